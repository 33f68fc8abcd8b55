// The row sums overwrite the cells that the neighbours still read: well if all read before all write.
// block: 32 8
// mask: 5 1
// expect: faulty race 18,19

extern "C" __global__ void row_in_place(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float row[8][36];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    for (int c = tx; c < 36; c += 32) {
        int sx = (int)blockIdx.x * 32 + c - 2;
        row[ty][c] = (y < height && sx >= 0 && sx < width) ? image[y * width + sx] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int j = 0; j < 5; j++)
        sum += mask[j] * row[ty][tx + j];
    row[ty][tx] = sum;
    __syncthreads();
    if (x < width && y < height) out[y * width + x] = row[ty][tx];
}
