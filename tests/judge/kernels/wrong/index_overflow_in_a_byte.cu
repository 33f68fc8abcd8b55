// Pixels are counted in an unsigned char: right up to 256 of them.
// expect: wrong wrong 18

extern "C" __global__ void conv(const float* image, const float* mask, float* out,
                                int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float acc = 0.0f;
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++) {
            int sy = y + i - mask_height / 2, sx = x + j - mask_width / 2;
            if (sy < 0 || sy >= height || sx < 0 || sx >= width) continue;
            unsigned char cell = sy * width + sx;
            acc += mask[i * mask_width + j] * image[cell];
        }
    out[y * width + x] = acc;
}
