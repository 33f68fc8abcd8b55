// Colours lie side by side: one thread filters every channel of its pixel.
// border: constant
// expect: right

extern "C" __global__ void colours(const float* image, const float* mask, float* out, int width, int height,
                                   int channels, int mask_width, int mask_height, float border_value)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    for (int c = 0; c < channels; c++) {
        float sum = 0.0f;
        for (int i = 0; i < mask_height; i++)
            for (int j = 0; j < mask_width; j++) {
                int sy = y + i - mask_height / 2, sx = x + j - mask_width / 2;
                float v = border_value;
                if (sy >= 0 && sy < height && sx >= 0 && sx < width)
                    v = image[(sy * width + sx) * channels + c];
                sum += mask[i * mask_width + j] * v;
            }
        out[(y * width + x) * channels + c] = sum;
    }
}
