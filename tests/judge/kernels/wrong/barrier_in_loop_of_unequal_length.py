"""The barrier is in the loop over the cells that a thread loads: some load two, some one."""
# block: 32 4
# mask: 5 1
# expect: faulty barrier 22

from numba import cuda, float32


@cuda.jit
def row_filter(image, mask, out):
    row = cuda.shared.array((4, 36), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    y = cuda.blockIdx.y * 4 + ty
    x0 = cuda.blockIdx.x * 32
    height, width = image.shape
    for c in range(tx, 36, 32):
        sx = x0 + c - 2
        if y < height and sx >= 0 and sx < width:
            row[ty, c] = image[y, sx]
        else:
            row[ty, c] = 0.0
        cuda.syncthreads()
    acc = float32(0.0)
    for j in range(5):
        acc += mask[0, j] * row[ty, tx + j]
    if y < height and x0 + tx < width:
        out[y, x0 + tx] = acc
