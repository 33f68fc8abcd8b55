// More declared shared memory than a block can have.
// expect: refused

extern "C" __global__ void k(const float* image, const float* mask, float* out, int width, int height, int mask_width, int mask_height) {
    __shared__ float w[20000];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; w[x * 7 % 20000] = 1.f; __syncthreads(); out[0] = w[y]; if (x >= width || y >= height) return;
    float s = 0.0f;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        int r = y + i - mask_height / 2, c = x + j - mask_width / 2;
        if (r >= 0 && r < height && c >= 0 && c < width) s += mask[i * mask_width + j] * image[r * width + c];
    }
 out[y * width + x] = s;
}
