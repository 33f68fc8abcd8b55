"""Each thread strides over the picture; a block has 64 x 16 results."""
# block: 32 8
# results: 64 16
# border: wrap
# expect: right

from numba import cuda, float32


@cuda.jit(device=True)
def wrapped(index, length):
    while index < 0:
        index += length
    return index % length


@cuda.jit
def stride(out, image, mask):
    height, width = out.shape
    x0, y0 = cuda.grid(2)
    dx, dy = cuda.gridsize(2)
    for y in range(y0, height, dy):
        for x in range(x0, width, dx):
            acc = float32(0)
            for i in range(mask.shape[0]):
                r = wrapped(y + i - mask.shape[0] // 2, height)
                for j in range(mask.shape[1]):
                    c = wrapped(x + j - mask.shape[1] // 2, width)
                    acc += mask[i, j] * image[r, c]
            out[y, x] = acc
