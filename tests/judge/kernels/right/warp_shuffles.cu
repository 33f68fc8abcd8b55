// A warp holds 32 cells of a row in registers; the neighbours' cells come by shuffles.
// block: 32 4
// results: 28 4
// mask: 5 5
// expect: right

extern "C" __global__ void shuffles(const float* image, const float* mask, float* out, int width, int height)
{
    const unsigned all = 0xffffffffu;
    int lane = threadIdx.x;
    int col = blockIdx.x * 28 + lane - 2;
    int row = blockIdx.y * blockDim.y + threadIdx.y;

    float sum = 0.0f;
    for (int i = 0; i < 5; i++) {
        int sy = row + i - 2;
        float cell = 0.0f;
        if (sy >= 0 && sy < height && col >= 0 && col < width) cell = image[sy * width + col];
        sum += mask[i * 5 + 0] * __shfl_up_sync(all, cell, 2);
        sum += mask[i * 5 + 1] * __shfl_up_sync(all, cell, 1);
        sum += mask[i * 5 + 2] * cell;
        sum += mask[i * 5 + 3] * __shfl_down_sync(all, cell, 1);
        sum += mask[i * 5 + 4] * __shfl_down_sync(all, cell, 2);
    }
    if (lane >= 2 && lane < 30 && col < width && row < height) out[row * width + col] = sum;
}
