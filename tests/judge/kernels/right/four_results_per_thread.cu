// A thread computes four neighbours of a row and keeps the eight cells they need in registers.
// block: 16 16
// results: 64 16
// mask: 5 5
// expect: right

extern "C" __global__ void four_per_thread(const float* __restrict__ image, const float* __restrict__ mask,
                                           float* __restrict__ out, int width, int height)
{
    int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;

    float acc[4] = {0, 0, 0, 0};
    for (int i = 0; i < 5; i++) {
        int sy = y + i - 2;
        if (sy < 0 || sy >= height) continue;
        float window[8];
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            int sx = x + k - 2;
            window[k] = (sx >= 0 && sx < width) ? __ldg(&image[sy * width + sx]) : 0.0f;
        }
        #pragma unroll
        for (int j = 0; j < 5; j++) {
            float w = mask[i * 5 + j];
            #pragma unroll
            for (int k = 0; k < 4; k++) acc[k] += w * window[j + k];
        }
    }
    for (int k = 0; k < 4; k++)
        if (x + k < width) out[y * width + x + k] = acc[k];
}
