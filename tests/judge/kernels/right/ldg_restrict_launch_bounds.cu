// Launch bounds, __ldg, long long indices.
// expect: right

extern "C" __global__ void __launch_bounds__(16 * 16, 2) k(const float* __restrict__ image, const float* __restrict__ mask, float* __restrict__ out, const int width, const int height, const int mask_width, const int mask_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= width || y >= height) return;
    float s = 0.0f;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        long long r = (long long)y + i - mask_height / 2, c = (long long)x + j - mask_width / 2;
        if (r >= 0 && r < height && c >= 0 && c < width) s = fmaf(__ldg(mask + i * mask_width + j), __ldg(&image[r * width + c]), s);
    }
    out[(size_t)y * width + x] = s;
}
