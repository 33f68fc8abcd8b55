// Strips of 8 rows go through two buffers by cp.async: the copy of the next one runs during the sums.
// block: 32 8
// results: 32 24
// mask: 3 3
// expect: right

__device__ __forceinline__ void copy4(float* to, const float* from, bool inside)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    int bytes = inside ? 4 : 0;  // the rest of the four bytes is filled with zeros
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(address), "l"(from), "r"(bytes) : "memory");
}

__device__ void start(float (*strip)[34], const float* image, int width, int height, int left, int top)
{
    for (int r = threadIdx.y; r < 10; r += 8)
        for (int c = threadIdx.x; c < 34; c += 32) {
            int sy = top + r, sx = left + c;
            bool inside = sy >= 0 && sy < height && sx >= 0 && sx < width;
            copy4(&strip[r][c], inside ? image + sy * width + sx : image, inside);
        }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

extern "C" __global__ void two_stages(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float strips[2][10][34];
    const int left = blockIdx.x * 32, top = blockIdx.y * 24;
    float weights[9];
    for (int k = 0; k < 9; k++) weights[k] = mask[k];

    start(strips[0], image, width, height, left - 1, top - 1);
    for (int s = 0; s < 3; s++) {
        if (s < 2) {
            start(strips[(s + 1) & 1], image, width, height, left - 1, top + 8 * (s + 1) - 1);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_all;" ::: "memory");
        }
        __syncthreads();
        int x = left + threadIdx.x, y = top + 8 * s + threadIdx.y;
        if (x < width && y < height) {
            float sum = 0.0f;
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += weights[i * 3 + j] * strips[s & 1][threadIdx.y + i][threadIdx.x + j];
            out[y * width + x] = sum;
        }
        __syncthreads();
    }
}
