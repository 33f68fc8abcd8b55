// Products and sums in half precision: fast, and wrong from the fourth digit.
// expect: wrong wrong 19

#include <cuda_fp16.h>

extern "C" __global__ void conv(const float* image, const float* mask, float* out,
                                int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    __half acc = __float2half(0.0f);
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++) {
            int sy = y + i - mask_height / 2, sx = x + j - mask_width / 2;
            if (sy >= 0 && sy < height && sx >= 0 && sx < width)
                acc = __hfma(__float2half(mask[i * mask_width + j]), __float2half(image[sy * width + sx]), acc);
        }
    out[y * width + x] = __half2float(acc);
}
