// The next cell is always loaded one step ahead: after the last tap that is the padding, which nobody wrote.
// block: 32 8
// mask: 3 3
// expect: faulty unwritten 22

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float tile[10][35];
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 10 * 34; k += 256) {
        int sy = blockIdx.y * 8 + k / 34 - 1, sx = blockIdx.x * 32 + k % 34 - 1;
        tile[k / 34][k % 34] = sy >= 0 && sy < height && sx >= 0 && sx < width ? image[sy * width + sx] : 0.f;
    }
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.f;
    for (int i = 0; i < 3; i++) {
        const volatile float* row = &tile[threadIdx.y + i][threadIdx.x];
        float next = row[0];
        for (int j = 0; j < 3; j++) {
            float cell = next;
            next = row[j + 1];
            sum += mask[i * 3 + j] * cell;
        }
    }
    out[y * width + x] = sum;
}
