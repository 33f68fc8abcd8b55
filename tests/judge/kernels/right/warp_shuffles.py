"""A warp holds a row of 32 cells; each lane asks its neighbours for theirs."""
# block: 32 4
# results: 30 4
# mask: 3 3
# expect: right

from numba import cuda, float32


@cuda.jit
def shuffles(image, mask, out):
    lane = cuda.threadIdx.x
    x = cuda.blockIdx.x * 30 + lane - 1
    y = cuda.blockIdx.y * 4 + cuda.threadIdx.y
    height, width = image.shape
    acc = float32(0.0)
    for i in range(3):
        r = y + i - 1
        cell = float32(0.0)
        if r >= 0 and r < height and x >= 0 and x < width:
            cell = image[r, x]
        left = cuda.shfl_up_sync(0xFFFFFFFF, cell, 1)
        right = cuda.shfl_down_sync(0xFFFFFFFF, cell, 1)
        acc += mask[i, 0] * left + mask[i, 1] * cell + mask[i, 2] * right
    if lane >= 1 and lane <= 30 and x < width and y < height:
        out[y, x] = acc
