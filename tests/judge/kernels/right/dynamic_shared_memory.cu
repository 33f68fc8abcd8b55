// Tile and mask in one dynamic allocation, for every mask up to 9 x 9: (24 * 24 + 81) floats.
// shared: 2628
// expect: right

extern "C" __global__ void dynamic_tile(const float* image, const float* mask, float* out,
                                        int width, int height, int mask_width, int mask_height)
{
    extern __shared__ float memory[];
    int taps = mask_width * mask_height;
    float* weights = memory;
    float* tile = memory + taps;
    int columns = blockDim.x + mask_width - 1, rows = blockDim.y + mask_height - 1;
    int rank = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;

    for (int k = rank; k < taps; k += threads) weights[k] = mask[k];
    for (int k = rank; k < rows * columns; k += threads) {
        int sy = (int)(blockIdx.y * blockDim.y) + k / columns - mask_height / 2;
        int sx = (int)(blockIdx.x * blockDim.x) + k % columns - mask_width / 2;
        float v = 0.0f;
        if (sy >= 0 && sy < height && sx >= 0 && sx < width) v = image[sy * width + sx];
        tile[k] = v;
    }
    __syncthreads();

    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++)
            sum += weights[i * mask_width + j] * tile[(threadIdx.y + i) * columns + threadIdx.x + j];
    out[y * width + x] = sum;
}
