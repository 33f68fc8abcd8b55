"""Waits for the own warp only, while the tile comes from all warps of the block."""
# block: 32 8
# mask: 3 3
# expect: faulty race 22,29

from numba import cuda, float32

R = 1


@cuda.jit
def conv(image, mask, out):
    tile = cuda.shared.array((10, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    y0 = cuda.blockIdx.y * 8 - R
    x0 = cuda.blockIdx.x * 32 - R
    for r in range(ty, 10, 8):
        for c in range(tx, 34, 32):
            v = float32(0.0)
            if 0 <= y0 + r < image.shape[0] and 0 <= x0 + c < image.shape[1]:
                v = image[y0 + r, x0 + c]
            tile[r, c] = v
    cuda.syncwarp()
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        acc = float32(0.0)
        for i in range(3):
            for j in range(3):
                acc += mask[i, j] * tile[ty + i, tx + j]
        out[y, x] = acc
