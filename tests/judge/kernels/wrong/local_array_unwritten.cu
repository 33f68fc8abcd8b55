// Cells outside are never stored in the window, and read all the same.
// block: 8 16
// expect: wrong unwritten 18

extern "C" __global__ void conv(const float* image, const float* mask, float* out,
                                int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float window[81];
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++) {
            int sy = y + i - mask_height / 2, sx = x + j - mask_width / 2;
            if (sy >= 0 && sy < height && sx >= 0 && sx < width) window[i * mask_width + j] = image[sy * width + sx];
        }
    float acc = 0.0f;
    for (int k = 0; k < mask_width * mask_height; k++)
        acc += mask[k] * window[k];
    out[y * width + x] = acc;
}
