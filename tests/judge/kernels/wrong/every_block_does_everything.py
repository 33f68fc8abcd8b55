"""The stride is the block, not the grid: each block computes the whole picture."""
# block: 16 8
# expect: faulty race 20

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    height, width = image.shape
    for y in range(cuda.threadIdx.y, height, cuda.blockDim.y):
        for x in range(cuda.threadIdx.x, width, cuda.blockDim.x):
            acc = float32(0.0)
            for i in range(mask.shape[0]):
                for j in range(mask.shape[1]):
                    r = y + i - mask.shape[0] // 2
                    c = x + j - mask.shape[1] // 2
                    if 0 <= r < height and 0 <= c < width:
                        acc += mask[i, j] * image[r, c]
            out[y, x] = acc
