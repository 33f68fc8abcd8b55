// mask: 3 3
// expect: faulty race 15,23

#define TILE 16
#define R 1

extern "C" __global__ void tiled(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float tile[TILE + 2 * R][TILE + 2 * R];
    int x0 = blockIdx.x * TILE - R, y0 = blockIdx.y * TILE - R;
    for (int r = threadIdx.y; r < TILE + 2 * R; r += TILE)
        for (int c = threadIdx.x; c < TILE + 2 * R; c += TILE) {
            int sy = y0 + r, sx = x0 + c;
            float v = (sy >= 0 && sy < height && sx >= 0 && sx < width) ? image[sy * width + sx] : 0.0f;
            tile[r][c] = v;
        }

    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0.0f;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += mask[i * 3 + j] * tile[threadIdx.y + i][threadIdx.x + j];
        out[y * width + x] = sum;
    }
}
