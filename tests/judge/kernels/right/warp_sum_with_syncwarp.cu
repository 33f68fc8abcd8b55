// A warp adds the taps of a pixel in shared memory; __syncwarp orders every step.
// block: 32 4
// results: 1 4
// mask: 5 5
// expect: right

extern "C" __global__ void warp_sum(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float part[4][32];
    int lane = threadIdx.x, w = threadIdx.y;
    int x = blockIdx.x, y = blockIdx.y * 4 + w;
    float v = 0.0f;
    if (lane < 25) {
        int sy = y + lane / 5 - 2, sx = x + lane % 5 - 2;
        if (sy >= 0 && sy < height && sx >= 0 && sx < width) v = mask[lane] * image[sy * width + sx];
    }
    part[w][lane] = v;
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        if (lane < step) part[w][lane] += part[w][lane + step];
        __syncwarp();
    }
    if (lane == 0 && y < height) out[y * width + x] = part[w][0];
}
