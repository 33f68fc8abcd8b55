// expect: wrong wrong 17

extern "C" __global__ void conv(const float* image, const float* mask, float* out,
                                int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float acc = 0.0f;
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++) {
            int sy = y + i - mask_height / 2;
            int sx = x + j - mask_width / 2;
            if (sy >= 0 && sy < height && sx >= 0 && sx < width)
                acc += mask[i * mask_width + j] * image[sy * width + sx];
        }
    out[x * height + y] = acc;
}
