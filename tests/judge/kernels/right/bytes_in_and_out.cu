// Bytes in, bytes out: rounded to the nearest and clipped to 0 .. 255.
// type: uint8
// border: mirror
// expect: right

__device__ int mirror(int i, int n)
{
    if (n == 1) return 0;
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

extern "C" __global__ void bytes(const unsigned char* image, const float* mask, unsigned char* out,
                                 int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++)
            sum += mask[i * mask_width + j]
                 * image[mirror(y + i - mask_height / 2, height) * width + mirror(x + j - mask_width / 2, width)];
    out[y * width + x] = (unsigned char)fminf(fmaxf(rintf(sum), 0.0f), 255.0f);
}
