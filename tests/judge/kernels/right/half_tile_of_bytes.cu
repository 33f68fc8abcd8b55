// Bytes are exact in half precision, so a tile of halves loses nothing; sums are float.
// mask: 5 5
// type: uint8
// expect: right

#include <cuda_fp16.h>

extern "C" __global__ void half_tile(const unsigned char* image, const float* mask, float* out,
                                     int width, int height)
{
    __shared__ __half tile[20][20 + 2];
    int x0 = blockIdx.x * 16 - 2, y0 = blockIdx.y * 16 - 2;
    for (int r = threadIdx.y; r < 20; r += 16)
        for (int c = threadIdx.x; c < 20; c += 16) {
            int sy = y0 + r, sx = x0 + c;
            int v = (sy < 0 || sx < 0 || sy >= height || sx >= width) ? 0 : image[sy * width + sx];
            tile[r][c] = __int2half_rn(v);
        }
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            sum += mask[5 * i + j] * __half2float(tile[threadIdx.y + i][threadIdx.x + j]);
    int x = x0 + 2 + threadIdx.x, y = y0 + 2 + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = sum;
}
