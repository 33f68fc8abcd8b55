// Calls itself, so the compiler cannot put it into the kernel.
// expect: refused

__device__ __noinline__ float taps(const float* image, const float* mask, int width, int height,
                                   int mask_width, int mask_height, int x, int y, int k)
{
    if (k == mask_width * mask_height) return 0.0f;
    int sy = y + k / mask_width - mask_height / 2, sx = x + k % mask_width - mask_width / 2;
    float cell = sy >= 0 && sy < height && sx >= 0 && sx < width ? image[sy * width + sx] : 0.0f;
    return taps(image, mask, width, height, mask_width, mask_height, x, y, k + 1) * 1.0f + mask[k] * cell;
}

extern "C" __global__ void conv(const float* image, const float* mask, float* out,
                                int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = taps(image, mask, width, height, mask_width, mask_height, x, y, 0);
}
