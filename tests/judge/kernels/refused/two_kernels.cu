// Two kernels, and no word which one is meant.
// mask: 1 1
// expect: refused

extern "C" __global__ void first(const float* image, const float* mask, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = mask[0] * image[y * width + x];
}

extern "C" __global__ void second(const float* image, const float* mask, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = image[y * width + x] * mask[0];
}
