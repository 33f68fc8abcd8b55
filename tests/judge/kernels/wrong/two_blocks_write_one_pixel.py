"""The cells at the rim of a block have only a part of their taps, and are written all the same."""
# block: 32 8
# results: 30 6
# mask: 3 3
# expect: wrong race 26

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    tile = cuda.shared.array((8, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * 30 + tx - 1
    y = cuda.blockIdx.y * 6 + ty - 1
    inside = 0 <= x < image.shape[1] and 0 <= y < image.shape[0]
    tile[ty, tx] = image[y, x] if inside else float32(0.0)
    cuda.syncthreads()
    acc = float32(0.0)
    for i in range(3):
        for j in range(3):
            r, c = ty + i - 1, tx + j - 1
            if 0 <= r < 8 and 0 <= c < 32:
                acc += mask[i, j] * tile[r, c]
    if inside:
        out[y, x] = acc
