// Rows begin at a multiple of 16 bytes only where the width is a multiple of four.
// block: 16 16
// results: 64 16
// mask: 1 1
// expect: faulty misaligned 15

extern "C" __global__ void scale(const float* image, const float* mask, float* out, int width, int height)
{
    int x = 4 * (blockIdx.x * 16 + threadIdx.x);
    int y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    float w = mask[0];
    int p = y * width + x;
    if (x + 4 <= width) {
        float4 v = *reinterpret_cast<const float4*>(image + p);
        out[p] = w * v.x;
        out[p + 1] = w * v.y;
        out[p + 2] = w * v.z;
        out[p + 3] = w * v.w;
    } else {
        for (; x < width; x++, p++) out[p] = w * image[p];
    }
}
