// Cells outside have the value of the nearest one inside.
// border: replicate
// expect: right

template <typename T>
__device__ T clamp(T value, T low, T high)
{
    return min(max(value, low), high);
}

extern "C" __global__ void replicate(const float* image, const float* mask, float* out,
                                     int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0.0f;
        for (int i = 0; i < mask_height; i++)
            for (int j = 0; j < mask_width; j++) {
                int sy = clamp(y + i - mask_height / 2, 0, height - 1);
                int sx = clamp(x + j - mask_width / 2, 0, width - 1);
                sum += mask[i * mask_width + j] * image[sy * width + sx];
            }
        out[y * width + x] = sum;
    }
}
