// The loops load one row and one column of the halo instead of two on the far sides.
// mask: 5 5
// expect: wrong unwritten 20

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float tile[20][20];
    const int R = 2, T = 16;
    int gx = blockIdx.x * T + threadIdx.x, gy = blockIdx.y * T + threadIdx.y;
    for (int r = threadIdx.y; r < T + 2 * R - 1; r += T)
        for (int c = threadIdx.x; c < T + 2 * R - 1; c += T) {
            int sy = blockIdx.y * T + r - R, sx = blockIdx.x * T + c - R;
            bool ok = sy >= 0 && sy < height && sx >= 0 && sx < width;
            tile[r][c] = ok ? image[sy * width + sx] : 0.0f;
        }
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            sum += mask[i * 5 + j] * tile[threadIdx.y + i][threadIdx.x + j];
    if (gx < width && gy < height) out[gy * width + gx] = sum;
}
