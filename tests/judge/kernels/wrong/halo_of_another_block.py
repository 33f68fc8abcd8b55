"""The left and right halo come from two blocks away: the block's own number is counted twice."""
# mask: 3 3
# expect: wrong wrong 42

from numba import cuda, float32

T = 16
SIDE = 18


@cuda.jit(device=True)
def cell(image, y, x):
    if y < 0 or x < 0 or y >= image.shape[0] or x >= image.shape[1]:
        return float32(0.0)
    return image[y, x]


@cuda.jit
def conv(image, mask, out):
    tile = cuda.shared.array((SIDE, SIDE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    left = cuda.blockIdx.x * T
    top = cuda.blockIdx.y * T
    tile[ty + 1, tx + 1] = cell(image, y, x)
    if tx < 2:
        # tx 0 loads the column before the tile, tx 1 the one behind it.
        column = tx * (T + 1)
        tile[ty + 1, column] = cell(image, y, left + cuda.blockIdx.x * T + column - 1)
    if ty < 2:
        row = ty * (T + 1)
        tile[row, tx + 1] = cell(image, top + row - 1, x)
        if tx < 2:
            tile[row, tx * (T + 1)] = cell(image, top + row - 1, left + tx * (T + 1) - 1)
    cuda.syncthreads()
    acc = float32(0.0)
    for i in range(3):
        for j in range(3):
            acc += mask[i, j] * tile[ty + i, tx + j]
    if y < image.shape[0] and x < image.shape[1]:
        out[y, x] = acc
