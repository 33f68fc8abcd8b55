// Each thread loads one cell; the threads at the rim of the block compute nothing.
// block: 32 8
// results: 28 4
// mask: 5 5
// expect: right

__constant__ int reach[2] = {2, 2};

extern "C" __global__ void input_tile(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float ds[8][32];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int col = blockIdx.x * 28 + tx - reach[0];
    const int row = blockIdx.y * 4 + ty - reach[1];

    ds[ty][tx] = 0.0f;
    if (col >= 0 && col < width && row >= 0 && row < height)
        ds[ty][tx] = image[row * width + col];
    __syncthreads();

    bool inner = tx >= 2 && tx < 30 && ty >= 2 && ty < 6;
    if (inner && col < width && row < height) {
        float sum = 0.0f;
        for (int i = -2; i <= 2; i++)
            for (int j = -2; j <= 2; j++)
                sum = fmaf(mask[(i + 2) * 5 + j + 2], ds[ty + i][tx + j], sum);
        out[row * width + col] = sum;
    }
}
