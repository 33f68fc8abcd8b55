// Tile with its halo in shared memory, loaded by all threads in two loops.
// block: 32 8
// mask: 5 5
// expect: right

#define BX 32
#define BY 8
#define R 2

extern "C" __global__ void tiled(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float tile[BY + 2 * R][BX + 2 * R];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = blockIdx.x * BX - R, y0 = blockIdx.y * BY - R;

    for (int r = ty; r < BY + 2 * R; r += BY)
        for (int c = tx; c < BX + 2 * R; c += BX) {
            int sy = y0 + r, sx = x0 + c;
            tile[r][c] = (sy >= 0 && sy < height && sx >= 0 && sx < width) ? image[sy * width + sx] : 0.0f;
        }
    __syncthreads();

    int x = x0 + R + tx, y = y0 + R + ty;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    #pragma unroll
    for (int i = 0; i < 2 * R + 1; i++)
        #pragma unroll
        for (int j = 0; j < 2 * R + 1; j++)
            sum += mask[i * 5 + j] * tile[ty + i][tx + j];
    out[y * width + x] = sum;
}
