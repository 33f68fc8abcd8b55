// A block goes down 4 strips of 8 rows; while one strip is used the next is loaded into the other buffer.
// block: 32 8
// results: 32 32
// mask: 3 3
// expect: right

#define STRIPS 4

__device__ void load(float strip[10][34], const float* image, int width, int height, int left, int top)
{
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 10 * 34; k += 256) {
        int sy = top + k / 34, sx = left + k % 34;
        bool in = sy >= 0 && sy < height && sx >= 0 && sx < width;
        strip[k / 34][k % 34] = in ? image[sy * width + sx] : 0.0f;
    }
}

extern "C" __global__ void double_buffer(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float buffer[2][10][34];
    int left = blockIdx.x * 32, top = blockIdx.y * 8 * STRIPS;
    int x = left + threadIdx.x;

    load(buffer[0], image, width, height, left - 1, top - 1);
    for (int s = 0; s < STRIPS; s++) {
        __syncthreads();
        if (s + 1 < STRIPS)
            load(buffer[(s + 1) % 2], image, width, height, left - 1, top + (s + 1) * 8 - 1);
        int y = top + s * 8 + threadIdx.y;
        float sum = 0.0f;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += mask[i * 3 + j] * buffer[s % 2][threadIdx.y + i][threadIdx.x + j];
        if (x < width && y < height) out[y * width + x] = sum;
    }
}
