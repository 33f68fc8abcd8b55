// Each thread waits for its own copies; nobody waits for those of the others.
// mask: 3 3
// expect: faulty race 14,24

#include <cuda_pipeline.h>

extern "C" __global__ void async_tile(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float tile[18][18];
    for (int k = threadIdx.y * 16 + threadIdx.x; k < 324; k += 256) {
        int sy = blockIdx.y * 16 + k / 18 - 1, sx = blockIdx.x * 16 + k % 18 - 1;
        bool inside = sy >= 0 && sy < height && sx >= 0 && sx < width;
        const float* from = inside ? &image[sy * width + sx] : image;
        __pipeline_memcpy_async(&tile[k / 18][k % 18], from, 4, inside ? 0 : 4);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);

    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += mask[i * 3 + j] * tile[threadIdx.y + i][threadIdx.x + j];
    out[y * width + x] = sum;
}
