// Threads are numbered through the whole grid, pixels too: row and column by division.
// block: 192
// expect: right

extern "C" __global__ void linear(const float* image, const float* mask, float* out,
                                  int width, int height, int mask_width, int mask_height)
{
    long long n = (long long)width * height;
    long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x;
    long long stride = (long long)gridDim.x * gridDim.y * blockDim.x;
    for (long long p = block * blockDim.x + threadIdx.x; p < n; p += stride) {
        int y = p / width, x = p % width;
        float s = 0;
        for (int k = 0; k < mask_width * mask_height; k++) {
            int sy = y + k / mask_width - mask_height / 2;
            int sx = x + k % mask_width - mask_width / 2;
            bool inside = sy >= 0 && sx >= 0 && sy < height && sx < width;
            s += mask[k] * (inside ? image[sy * width + sx] : 0.0f);
        }
        out[p] = s;
    }
}
