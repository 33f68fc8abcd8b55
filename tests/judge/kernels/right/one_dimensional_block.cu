// A block is 128 pixels of one row; unsigned comparisons check both edges at once.
// block: 128
// expect: right

extern "C" __global__ void conv1d_block(float* out, const float* image, int width, int height,
                                        const float* mask, int mask_height, int mask_width)
{
    const unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned row = blockIdx.y;
    if (col >= width) return;

    float acc = 0.f;
    const float* m = mask;
    for (int dy = -(mask_height / 2); dy <= mask_height / 2; ++dy)
        for (int dx = -(mask_width / 2); dx <= mask_width / 2; ++dx, ++m) {
            unsigned r = row + dy, c = col + dx;
            if (r < height && c < width) acc += *m * image[r * width + c];
        }
    out[row * width + col] = acc;
}
