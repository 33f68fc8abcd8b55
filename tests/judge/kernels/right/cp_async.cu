// The tile is copied asynchronously (compute capability 8.0); cells outside are stored as zeros.
// mask: 3 3
// expect: right

#include <cuda_pipeline.h>

extern "C" __global__ void async_tile(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float tile[18][18];
    int t = threadIdx.y * blockDim.x + threadIdx.x;

    for (int k = t; k < 18 * 18; k += 256) {
        int sy = blockIdx.y * 16 + k / 18 - 1;
        int sx = blockIdx.x * 16 + k % 18 - 1;
        if (sy >= 0 && sy < height && sx >= 0 && sx < width)
            __pipeline_memcpy_async(&tile[k / 18][k % 18], &image[sy * width + sx], sizeof(float));
        else
            tile[k / 18][k % 18] = 0.0f;
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();

    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0.0f;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += mask[i * 3 + j] * tile[threadIdx.y + i][threadIdx.x + j];
        out[y * width + x] = sum;
    }
}
