// Each thread loads its cell, those at the rim also the halo beside them; nobody loads the four corners.
// mask: 3 3
// expect: wrong unwritten 25

__device__ float at(const float* image, int width, int height, int x, int y)
{
    return (x >= 0 && y >= 0 && x < width && y < height) ? image[y * width + x] : 0.0f;
}

extern "C" __global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ float s[18][18];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    s[ty][tx] = at(image, width, height, x, y);
    if (tx == 1) s[ty][0] = at(image, width, height, x - 1, y);
    if (tx == 16) s[ty][17] = at(image, width, height, x + 1, y);
    if (ty == 1) s[0][tx] = at(image, width, height, x, y - 1);
    if (ty == 16) s[17][tx] = at(image, width, height, x, y + 1);
    __syncthreads();
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            sum += mask[(i + 1) * 3 + j + 1] * s[ty + i][tx + j];
    out[y * width + x] = sum;
}
