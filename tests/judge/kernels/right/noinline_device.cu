// Device functions that are not inlined, one with a struct as its result.
// expect: right

__device__ __noinline__ float pixel(const float* image, int r, int c, int height, int width) {
    if (r < 0 || r >= height || c < 0 || c >= width) return 0.0f;
    return image[r * width + c];
}
struct Where { int r, c; };
__device__ __noinline__ Where at(int y, int x, int i, int j, int mh, int mw) { Where w; w.r = y + i - mh / 2; w.c = x + j - mw / 2; return w; }
extern "C" __global__ void k(const float* image, const float* mask, float* out, int width, int height, int mask_width, int mask_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= width || y >= height) return;
    float s = 0;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        Where w = at(y, x, i, j, mask_height, mask_width);
        s += mask[i * mask_width + j] * pixel(image, w.r, w.c, height, width);
    }
    out[y * width + x] = s;
}
