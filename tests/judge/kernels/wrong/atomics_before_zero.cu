// The sum is set to zero by one lane and added to by all, with no barrier between.
// block: 32 8
// results: 1 8
// expect: faulty race 12,18

extern "C" __global__ void taps_by_lanes(const float* image, const float* mask, float* out,
                                         int width, int height, int mask_width, int mask_height)
{
    __shared__ float sums[8];
    int lane = threadIdx.x, warp = threadIdx.y;
    int x = blockIdx.x, y = blockIdx.y * 8 + warp;
    if (lane == 0) sums[warp] = 0.0f;
    float part = 0.0f;
    for (int k = lane; k < mask_width * mask_height; k += 32) {
        int sy = y + k / mask_width - mask_height / 2, sx = x + k % mask_width - mask_width / 2;
        if (sy >= 0 && sy < height && sx >= 0 && sx < width) part += mask[k] * image[sy * width + sx];
    }
    atomicAdd(&sums[warp], part);
    __syncthreads();
    if (lane == 0 && y < height) out[y * width + x] = sums[warp];
}
