"""Threads outside the picture leave before the barrier, and load nothing of the tile."""
# mask: 3 3
# expect: wrong barrier 28

from numba import cuda, float32

T = 16
SIDE = T + 2


@cuda.jit
def conv(image, mask, out):
    tile = cuda.shared.array((SIDE, SIDE), float32)
    x, y = cuda.grid(2)
    height, width = image.shape
    if x >= width or y >= height:
        return
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    for r in range(ty, SIDE, T):
        for c in range(tx, SIDE, T):
            sy = y - ty + r - 1
            sx = x - tx + c - 1
            if sy < 0 or sy >= height or sx < 0 or sx >= width:
                tile[r, c] = 0
            else:
                tile[r, c] = image[sy, sx]
    cuda.syncthreads()
    acc = float32(0.0)
    for i in range(3):
        for j in range(3):
            acc += mask[i, j] * tile[ty + i, tx + j]
    out[y, x] = acc
