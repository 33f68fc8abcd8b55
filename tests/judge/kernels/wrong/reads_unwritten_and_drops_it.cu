// Cells outside the picture are never stored in the tile; they are read, and replaced by zero.
// block: 32 8
// mask: 3 3
// expect: faulty unwritten 21

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float tile[10][34];
    int left = blockIdx.x * 32 - 1, top = blockIdx.y * 8 - 1;
    for (int r = threadIdx.y; r < 10; r += 8)
        for (int c = threadIdx.x; c < 34; c += 32)
            if (top + r >= 0 && top + r < height && left + c >= 0 && left + c < width)
                tile[r][c] = image[(top + r) * width + left + c];
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int sy = y + i - 1, sx = x + j - 1;
            float cell = tile[threadIdx.y + i][threadIdx.x + j];
            sum += mask[i * 3 + j] * (sy >= 0 && sy < height && sx >= 0 && sx < width ? cell : 0.0f);
        }
    out[y * width + x] = sum;
}
