// There is no parameter `out`.
// expect: refused

__device__ float result[64 * 64];

extern "C" __global__ void conv(const float* image, const float* mask, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) result[y * width + x] = mask[0] * image[y * width + x];
}
