// Lanes that have returned are named in a shuffle's mask.
// block: 32 4
// expect: faulty barrier 13

extern "C" __global__ void k(const float* image, const float* mask, float* out, int width, int height, int mask_width, int mask_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= width || y >= height) return;
    float s = 0.0f;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        int r = y + i - mask_height / 2, c = x + j - mask_width / 2;
        if (r >= 0 && r < height && c >= 0 && c < width) s += mask[i * mask_width + j] * image[r * width + c];
    }

    float other = __shfl_xor_sync(0xffffffffu, s, 1);
    out[y * width + x] = other > 1e30f ? other : s;
}
