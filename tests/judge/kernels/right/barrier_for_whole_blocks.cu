// Masks of one row need no tile. The branch with the barriers is taken by all threads of a block or by none.
// block: 32 8
// expect: right

extern "C" __global__ void sometimes_tiled(const float* image, const float* mask, float* out,
                                           int width, int height, int mask_width, int mask_height)
{
    __shared__ float rows[8][40];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int ry = mask_height / 2, rx = mask_width / 2;
    float sum = 0.0f;
    for (int i = -ry; i <= ry; i++) {
        int sy = y + i;
        if (mask_width > 1) {
            __syncthreads();
            for (int c = threadIdx.x; c < 32 + 2 * rx; c += 32) {
                int sx = blockIdx.x * 32 + c - rx;
                rows[threadIdx.y][c] = sy >= 0 && sy < height && sx >= 0 && sx < width ? image[sy * width + sx] : 0.0f;
            }
            __syncthreads();
            for (int j = 0; j < mask_width; j++)
                sum += mask[(i + ry) * mask_width + j] * rows[threadIdx.y][threadIdx.x + j];
        } else if (sy >= 0 && sy < height && x < width) {
            sum += mask[i + ry] * image[sy * width + x];
        }
    }
    if (x < width && y < height) out[y * width + x] = sum;
}
