// The last steps of the sum trust that a warp runs in lockstep; since Volta it need not.
// block: 32 4
// results: 1 4
// mask: 5 5
// expect: faulty race 17,19

extern "C" __global__ void warp_sum(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ volatile float part[4][32];
    int lane = threadIdx.x, w = threadIdx.y;
    int x = blockIdx.x, y = blockIdx.y * 4 + w;
    float v = 0.0f;
    if (lane < 25) {
        int sy = y + lane / 5 - 2, sx = x + lane % 5 - 2;
        if (sy >= 0 && sy < height && sx >= 0 && sx < width) v = mask[lane] * image[sy * width + sx];
    }
    part[w][lane] = v;
    if (lane < 16) {
        part[w][lane] += part[w][lane + 16];
        part[w][lane] += part[w][lane + 8];
        part[w][lane] += part[w][lane + 4];
        part[w][lane] += part[w][lane + 2];
        part[w][lane] += part[w][lane + 1];
    }
    if (lane == 0 && y < height) out[y * width + x] = part[w][0];
}
