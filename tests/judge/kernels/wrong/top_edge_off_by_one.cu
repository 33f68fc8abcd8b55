// The first row counts as outside.
// expect: wrong wrong 16

extern "C" __global__ void conv(const float* image, const float* mask, float* out,
                                int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++) {
            int row = y + i - mask_height / 2, col = x + j - mask_width / 2;
            if (row > 0 && row < height && col >= 0 && col < width)
                sum += mask[i * mask_width + j] * image[row * width + col];
        }
    out[y * width + x] = sum;
}
