// Four pixels a load: where rows are whole words; else, and at the edges, pixel by pixel.
// block: 32 4
// results: 128 4
// mask: 3 3
// type: uint8
// expect: right

__device__ unsigned char cell(const unsigned char* image, int width, int height, int x, int y)
{
    return x >= 0 && x < width && y >= 0 && y < height ? image[y * width + x] : 0;
}

extern "C" __global__ void uchar4_loads(const unsigned char* image, const float* mask, float* out,
                                        int width, int height)
{
    int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;

    float sums[4] = {0.f, 0.f, 0.f, 0.f};
    for (int i = 0; i < 3; i++) {
        int sy = y + i - 1;
        float v[6];
        v[0] = cell(image, width, height, x - 1, sy);
        if (sy >= 0 && sy < height && width % 4 == 0) {
            uchar4 word = *reinterpret_cast<const uchar4*>(image + sy * width + x);
            v[1] = word.x; v[2] = word.y; v[3] = word.z; v[4] = word.w;
        } else {
            for (int k = 0; k < 4; k++) v[k + 1] = cell(image, width, height, x + k, sy);
        }
        v[5] = cell(image, width, height, x + 4, sy);
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) sums[k] += mask[i * 3 + j] * v[j + k];
    }
    for (int k = 0; k < 4 && x + k < width; k++) out[y * width + x + k] = sums[k];
}
