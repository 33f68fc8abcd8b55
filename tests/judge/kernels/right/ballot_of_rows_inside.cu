// Lane i votes whether row i of the mask is inside; the loop visits the bits that are set.
// block: 32 4
// expect: right

extern "C" __global__ void by_bits(const float* image, const float* mask, float* out,
                                   int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    int first = y - mask_height / 2;
    int mine = first + (int)threadIdx.x;
    unsigned rows = __ballot_sync(0xffffffff, threadIdx.x < mask_height && mine >= 0 && mine < height);
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    int left = __popc(rows);
    while (left-- > 0) {
        int i = __ffs(rows) - 1;
        rows &= rows - 1;
        for (int j = 0; j < mask_width; j++) {
            int sx = x + j - mask_width / 2;
            if (sx >= 0 && sx < width) sum += mask[i * mask_width + j] * image[(first + i) * width + sx];
        }
    }
    out[y * width + x] = sum;
}
