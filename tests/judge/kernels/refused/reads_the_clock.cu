// The clock is no part of a kernel's meaning.
// mask: 1 1
// expect: refused

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    if (x < width && y < height) out[y * width + x] = t > 0 ? mask[0] * image[y * width + x] : 0.0f;
}
