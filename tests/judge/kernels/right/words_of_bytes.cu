// The tile keeps four bytes in a word; a pixel is cut out of its word by a shift.
// block: 16 8
// mask: 3 3
// type: uint8
// expect: right

extern "C" __global__ void packed(const unsigned char* image, const float* mask, float* out, int width, int height)
{
    __shared__ unsigned tile[10][5];
    int t = threadIdx.y * 16 + threadIdx.x;
    if (t < 50) {
        int r = t / 5, sy = blockIdx.y * 8 + r - 1;
        unsigned word = 0;
        for (int k = 0; k < 4; k++) {
            int sx = blockIdx.x * 16 + t % 5 * 4 + k - 1;
            if (sy >= 0 && sy < height && sx >= 0 && sx < width) word |= (unsigned)image[sy * width + sx] << 8 * k;
        }
        tile[r][t % 5] = word;
    }
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            unsigned c = threadIdx.x + j;
            sum += mask[i * 3 + j] * (float)(tile[threadIdx.y + i][c >> 2] >> (c & 3) * 8 & 0xffu);
        }
    out[y * width + x] = sum;
}
