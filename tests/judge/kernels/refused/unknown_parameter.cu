// Nobody knows what `pitch` is.
// expect: refused

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * pitch + x] = mask[0] * image[y * pitch + x];
}
