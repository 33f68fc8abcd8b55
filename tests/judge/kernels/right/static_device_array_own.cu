// An array of the module, of which each thread has a place of its own.
// expect: right

__device__ float scratch[67 * 33];
extern "C" __global__ void k(const float* image, const float* mask, float* out, int width, int height, int mask_width, int mask_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= width || y >= height) return;
    float s = 0.0f;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        int r = y + i - mask_height / 2, c = x + j - mask_width / 2;
        if (r >= 0 && r < height && c >= 0 && c < width) s += mask[i * mask_width + j] * image[r * width + c];
    }

    scratch[y * width + x] = s;
    out[y * width + x] = scratch[y * width + x];
}
