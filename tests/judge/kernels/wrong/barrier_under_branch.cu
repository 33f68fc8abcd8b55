// block: 32 8
// mask: 5 5
// expect: faulty barrier 16

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float t[12][36];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    for (int r = threadIdx.y; r < 12; r += 8)
        for (int c = threadIdx.x; c < 36; c += 32) {
            int sy = (int)blockIdx.y * 8 + r - 2, sx = (int)blockIdx.x * 32 + c - 2;
            t[r][c] = (sy < 0 || sy >= height || sx < 0 || sx >= width) ? 0.f : image[sy * width + sx];
        }
    if (x < width && y < height) {
        __syncthreads();
        float s = 0.f;
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++)
                s += mask[i * 5 + j] * t[threadIdx.y + i][threadIdx.x + j];
        out[y * width + x] = s;
    }
}
