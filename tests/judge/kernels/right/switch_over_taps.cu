// A row of the mask is a switch without breaks: begins at its width and falls through to the first tap.
// expect: right

extern "C" __global__ void by_switch(const float* image, const float* mask, float* out,
                                     int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < mask_height; i++) {
        int sy = y + i - mask_height / 2;
        if (sy < 0 || sy >= height) continue;
        const float* w = mask + i * mask_width;
        const float* row = image + sy * width;
        int left = x - mask_width / 2;
#define TAP(j) if (left + j >= 0 && left + j < width) sum += w[j] * row[left + j]
        switch (mask_width) {
        case 9: TAP(8); TAP(7);
        case 7: TAP(6); TAP(5);
        case 5: TAP(4); TAP(3);
        case 3: TAP(2); TAP(1);
        case 1: TAP(0); break;
        default:
            for (int j = 0; j < mask_width; j++) TAP(j);
        }
    }
    out[y * width + x] = sum;
}
