// The last row counts as outside.
// block: 32 4
// expect: wrong wrong 21

extern "C" __global__ void conv(const float* image, const float* mask, float* out,
                                int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0;
        for (int i = 0; i < mask_height; i++) {
            int row = y + i - mask_height / 2;
            if (row < 0 || row >= height - 1) continue;
            for (int j = 0; j < mask_width; j++) {
                int col = x + j - mask_width / 2;
                if (col < 0 || col >= width) continue;
                sum += mask[i * mask_width + j] * image[row * width + col];
            }
        }
        out[y * width + x] = sum;
    }
}
