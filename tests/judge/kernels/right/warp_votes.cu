// Votes of a warp before some of its threads return.
// block: 32 4
// expect: right

extern "C" __global__ void k(const float* image, const float* mask, float* out, int width, int height, int mask_width, int mask_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; bool in = x < width && y < height;
    if (!__any_sync(0xffffffffu, in)) return;
    unsigned b = __ballot_sync(0xffffffffu, in);
    int all = __all_sync(0xffffffffu, in);
    if (!in) return;
    float s = 0.0f;
    for (int i = 0; i < mask_height; i++) for (int j = 0; j < mask_width; j++) {
        int r = y + i - mask_height / 2, c = x + j - mask_width / 2;
        if (r >= 0 && r < height && c >= 0 && c < width) s += mask[i * mask_width + j] * image[r * width + c];
    }
 unsigned am = __activemask();
    out[y * width + x] = (all == (b == 0xffffffffu) && am) ? s : -1.f;
}
