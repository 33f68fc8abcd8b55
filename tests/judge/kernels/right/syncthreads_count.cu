// Barriers that also count, and tell whether all or any hold.
// expect: right

extern "C" __global__ void k(const float* image, const float* mask, float* out, int width, int height, int mask_width, int mask_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    bool in = x < width && y < height;
    int n = __syncthreads_count(in);
    int any = __syncthreads_or(in), all = __syncthreads_and(in);
    if (!any || n == 0) return;
    if (all != (n == 256)) { if (in) out[y * width + x] = -1.f; return; }
    if (!in) return;
    float s = 0.0f;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        int r = y + i - mask_height / 2, c = x + j - mask_width / 2;
        if (r >= 0 && r < height && c >= 0 && c < width) s += mask[i * mask_width + j] * image[r * width + c];
    }
 out[y * width + x] = s;
}
