// The result replaces the pixel in the input picture, where others still need the old one.
// block: 32 1
// results: 32 8
// expect: wrong race 19,21

extern "C" __global__ void in_place(const float* image, const float* mask, float* out,
                                    int width, int height, int mask_width, int mask_height)
{
    float* picture = (float*)image;
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < 8; k++) {
        int y = blockIdx.y * 8 + k;
        if (x >= width || y >= height) return;
        float acc = 0.0f;
        for (int i = 0; i < mask_height; i++)
            for (int j = 0; j < mask_width; j++) {
                int sy = y + i - mask_height / 2, sx = x + j - mask_width / 2;
                if (sy >= 0 && sy < height && sx >= 0 && sx < width)
                    acc += mask[i * mask_width + j] * picture[sy * width + sx];
            }
        picture[y * width + x] = acc;
        out[y * width + x] = acc;
    }
}
