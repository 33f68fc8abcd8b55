"""Tile with its halo in shared memory; a thread loads up to four cells."""
# block: 16 16
# mask: 3 3
# expect: right

from numba import cuda, float32

BLOCK = 16
RADIUS = 1
SIDE = BLOCK + 2 * RADIUS


@cuda.jit
def tiled(image, mask, out):
    tile = cuda.shared.array((SIDE, SIDE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    height, width = image.shape
    top = cuda.blockIdx.y * BLOCK - RADIUS
    left = cuda.blockIdx.x * BLOCK - RADIUS
    for r in range(ty, SIDE, BLOCK):
        for c in range(tx, SIDE, BLOCK):
            value = float32(0.0)
            if top + r >= 0 and top + r < height and left + c >= 0 and left + c < width:
                value = image[top + r, left + c]
            tile[r, c] = value
    cuda.syncthreads()
    y = top + RADIUS + ty
    x = left + RADIUS + tx
    if y < height and x < width:
        acc = float32(0.0)
        for i in range(3):
            for j in range(3):
                acc += mask[i, j] * tile[ty + i, tx + j]
        out[y, x] = acc
