// mask: 3 3
// expect: faulty async 13,25

#include <cuda_pipeline.h>

extern "C" __global__ void async_tile(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float tile[18][18];
    for (int r = threadIdx.y; r < 18; r += 16)
        for (int c = threadIdx.x; c < 18; c += 16) {
            int sy = blockIdx.y * 16 + r - 1, sx = blockIdx.x * 16 + c - 1;
            if (sy >= 0 && sy < height && sx >= 0 && sx < width)
                __pipeline_memcpy_async(&tile[r][c], &image[sy * width + sx], 4);
            else
                tile[r][c] = 0.0f;
        }
    __pipeline_commit();
    __syncthreads();

    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += mask[i * 3 + j] * tile[threadIdx.y + i][threadIdx.x + j];
    out[y * width + x] = sum;
}
