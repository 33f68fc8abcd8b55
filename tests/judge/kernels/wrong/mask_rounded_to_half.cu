// Only the mask is stored in half precision, to save shared memory.
// mask: 7 7
// expect: wrong wrong 22

#include <cuda_fp16.h>

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ __half weights[49];
    int t = threadIdx.y * 16 + threadIdx.x;
    if (t < 49) weights[t] = __float2half_rn(mask[t]);
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    float acc = 0.0f;
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++) {
            int sy = y + i - 3, sx = x + j - 3;
            if (sy >= 0 && sy < height && sx >= 0 && sx < width)
                acc += __half2float(weights[i * 7 + j]) * image[sy * width + sx];
        }
    out[y * width + x] = acc;
}
