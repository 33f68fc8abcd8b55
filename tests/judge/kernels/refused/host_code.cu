// The whole program of an exercise, with main and its includes.
// expect: refused

#include <cstdlib>
#include <iostream>
#include <vector>

__global__ void conv(const float* image, const float* mask, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = mask[0] * image[y * width + x];
}

int main()
{
    std::vector<float> host(64 * 64, 1.0f);
    float *image, *out, *mask;
    cudaMalloc(&image, host.size() * sizeof(float));
    cudaMalloc(&out, host.size() * sizeof(float));
    cudaMalloc(&mask, sizeof(float));
    cudaMemcpy(image, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
    conv<<<dim3(4, 4), dim3(16, 16)>>>(image, mask, out, 64, 64);
    cudaDeviceSynchronize();
    std::cout << "done" << std::endl;
    return EXIT_SUCCESS;
}
