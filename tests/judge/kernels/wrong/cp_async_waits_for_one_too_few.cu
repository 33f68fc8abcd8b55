// The last strip is used while its own group may still be on its way.
// block: 32 8
// results: 32 16
// mask: 3 3
// expect: faulty async 15,33

__device__ void start(float (*strip)[34], const float* image, int width, int height, int left, int top)
{
    for (int r = threadIdx.y; r < 10; r += 8)
        for (int c = threadIdx.x; c < 34; c += 32) {
            int sy = top + r, sx = left + c;
            bool inside = sy >= 0 && sy < height && sx >= 0 && sx < width;
            unsigned to = (unsigned)__cvta_generic_to_shared(&strip[r][c]);
            const float* from = inside ? image + sy * width + sx : image;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(from), "r"(inside ? 4 : 0) : "memory");
        }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

extern "C" __global__ void two_strips(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float strips[2][10][34];
    int left = blockIdx.x * 32, top = blockIdx.y * 16;
    start(strips[0], image, width, height, left - 1, top - 1);
    start(strips[1], image, width, height, left - 1, top + 7);
    for (int s = 0; s < 2; s++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        int x = left + threadIdx.x, y = top + 8 * s + threadIdx.y;
        float sum = 0.0f;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += mask[i * 3 + j] * strips[s][threadIdx.y + i][threadIdx.x + j];
        if (x < width && y < height) out[y * width + x] = sum;
    }
}
