"""The tile is filled again for the second strip before all have read the first."""
# block: 16 16
# results: 16 32
# mask: 5 5
# expect: faulty race 32,27

from numba import cuda, float32


@cuda.jit
def strips(image, mask, out):
    tile = cuda.shared.array((20, 20), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    height = image.shape[0]
    width = image.shape[1]
    x = cuda.blockIdx.x * 16 + tx
    for strip in range(2):
        top = cuda.blockIdx.y * 32 + strip * 16
        for r in range(ty, 20, 16):
            for c in range(tx, 20, 16):
                sy = top + r - 2
                sx = cuda.blockIdx.x * 16 + c - 2
                v = float32(0.0)
                if sy >= 0 and sy < height and sx >= 0 and sx < width:
                    v = image[sy, sx]
                tile[r, c] = v
        cuda.syncthreads()
        acc = float32(0.0)
        for i in range(5):
            for j in range(5):
                acc += mask[i, j] * tile[ty + i, tx + j]
        if top + ty < height and x < width:
            out[top + ty, x] = acc
