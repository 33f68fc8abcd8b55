// There is no popcount in PTX: it is popc. NVRTC does not look into inline assembly.
// mask: 1 1
// expect: refused

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned bits;
    asm("popcount.b32 %0, %1;" : "=r"(bits) : "r"(x));
    if (x < width && y < height) out[y * width + x] = (bits > 32 ? 0.0f : mask[0]) * image[y * width + x];
}
