// Blocks overlap by two columns, and every thread writes its result: the same value, twice.
// block: 32 8
// results: 30 8
// expect: faulty race 19

extern "C" __global__ void conv(const float* image, const float* mask, float* out,
                                int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * 30 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    float acc = 0.0f;
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++) {
            int sy = y + i - mask_height / 2, sx = x + j - mask_width / 2;
            if (sy >= 0 && sy < height && sx >= 0 && sx < width)
                acc += mask[i * mask_width + j] * image[sy * width + sx];
        }
    out[y * width + x] = acc;
}
