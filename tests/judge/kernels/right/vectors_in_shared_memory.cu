// A thread computes four results of a row from three float4 of the tile.
// block: 8 16
// results: 32 16
// mask: 5 5
// expect: right

extern "C" __global__ void vectors(const float* image, const float* mask, float* out, int width, int height)
{
    __shared__ __align__(16) float tile[20][40];
    const int left = blockIdx.x * 32 - 4, top = blockIdx.y * 16 - 2;
    for (int k = threadIdx.y * 8 + threadIdx.x; k < 20 * 40; k += 128) {
        int sy = top + k / 40, sx = left + k % 40;
        tile[k / 40][k % 40] = (sy >= 0 && sy < height && sx >= 0 && sx < width) ? image[sy * width + sx] : 0.0f;
    }
    __syncthreads();

    float acc[4] = {};
    for (int i = 0; i < 5; i++) {
        float4 a[3];
        #pragma unroll
        for (int k = 0; k < 3; k++)
            a[k] = *reinterpret_cast<const float4*>(&tile[threadIdx.y + i][4 * (threadIdx.x + k)]);
        float v[12] = {a[0].x, a[0].y, a[0].z, a[0].w, a[1].x, a[1].y, a[1].z, a[1].w, a[2].x, a[2].y, a[2].z, a[2].w};
        #pragma unroll
        for (int j = 0; j < 5; j++)
            #pragma unroll
            for (int k = 0; k < 4; k++) acc[k] += mask[i * 5 + j] * v[2 + j + k];
    }
    int x = left + 4 + 4 * threadIdx.x, y = top + 2 + threadIdx.y;
    if (y >= height) return;
    for (int k = 0; k < 4; k++)
        if (x + k < width) out[y * width + x + k] = acc[k];
}
