// One buffer for three strips: the next strip is loaded while others still read this one.
// block: 32 8
// results: 32 24
// mask: 3 3
// expect: faulty race 24,17

extern "C" __global__ void strips(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float strip[10][34];
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int s = 0; s < 3; s++) {
        int top = blockIdx.y * 24 + s * 8;
        for (int k = threadIdx.y * 32 + threadIdx.x; k < 340; k += 256) {
            int sy = top + k / 34 - 1, sx = blockIdx.x * 32 + k % 34 - 1;
            float v = 0.0f;
            if (sy >= 0 && sy < height && sx >= 0 && sx < width) v = image[sy * width + sx];
            strip[k / 34][k % 34] = v;
        }
        __syncthreads();
        int y = top + threadIdx.y;
        float sum = 0.0f;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += mask[3 * i + j] * strip[threadIdx.y + i][threadIdx.x + j];
        if (x < width && y < height) out[y * width + x] = sum;
    }
}
