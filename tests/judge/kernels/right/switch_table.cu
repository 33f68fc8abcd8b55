// A switch that becomes a table of jumps.
// expect: right

extern "C" __global__ void k(const float* image, const float* mask, float* out, int width, int height, int mask_width, int mask_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= width || y >= height) return;
    float s = 0.0f;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        int r = y + i - mask_height / 2, c = x + j - mask_width / 2;
        if (r >= 0 && r < height && c >= 0 && c < width) s += mask[i * mask_width + j] * image[r * width + c];
    }

    int n;
    switch ((x * 7 + y) % 11) {
        case 0: n = 3; break; case 1: n = y * 3; break; case 2: n = x ^ 5; break; case 3: n = -x; break; case 4: n = x * y; break;
        case 5: n = x - y; break; case 6: n = ~y; break; case 7: n = __popc(x); break; case 8: n = x << 2; break; case 9: n = y >> 1; break; default: n = 9; }
    out[y * width + x] = n == 123456 ? 0.f : s;
}
