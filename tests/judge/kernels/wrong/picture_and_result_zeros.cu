// expect: wrong wrong 9
// mask: 3 3
// A thread writes zero to its pixel of the picture, whose right result would be zero.

extern "C" __global__ void zeros(float* image, float* out, int width, int height)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    out[y * width + x] = image[y * width + x] = 0.0f;
}
