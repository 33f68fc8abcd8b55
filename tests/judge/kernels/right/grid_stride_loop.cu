// Each block computes 32 x 32 pixels with 16 x 16 threads that stride over the picture.
// results: 32 32
// expect: right

__device__ float pixel(const float* image, int width, int height, int x, int y)
{
    if (x < 0 || y < 0 || x >= width || y >= height) return 0.0f;
    return image[y * width + x];
}

extern "C" __global__ void grid_stride(const float* image, const float* mask, float* out,
                                       int width, int height, int mask_width, int mask_height)
{
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += gridDim.y * blockDim.y)
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += gridDim.x * blockDim.x) {
            float sum = 0.0f;
            for (int i = 0; i < mask_height; i++)
                for (int j = 0; j < mask_width; j++)
                    sum += mask[i * mask_width + j]
                         * pixel(image, width, height, x + j - mask_width / 2, y + i - mask_height / 2);
            out[y * width + x] = sum;
        }
}
