// A barrier for each half of the block.
// expect: right

extern "C" __global__ void k(const float* image, const float* mask, float* out, int width, int height, int mask_width, int mask_height) {
    // Each half of the block has a barrier of its own.
    __shared__ float w[2][81];
    int half = threadIdx.y / 8, t = (threadIdx.y % 8) * 16 + threadIdx.x;
    if (t < mask_width * mask_height) w[half][t] = mask[t];
    asm volatile("bar.sync %0, 128;" :: "r"(half + 1) : "memory");
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= width || y >= height) return;
    float s = 0;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        int r = y + i - mask_height / 2, c = x + j - mask_width / 2;
        if (r >= 0 && r < height && c >= 0 && c < width) s += w[half][i * mask_width + j] * image[r * width + c]; }
    out[y * width + x] = s;
}
