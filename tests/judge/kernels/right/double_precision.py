"""Python's floats are 64 bits: slow, and more exact than asked for."""
# block: 8 8
# border: constant
# expect: right

from numba import cuda


@cuda.jit
def double_precision(image, mask, out, border_value):
    column, row = cuda.grid(2)
    if row >= image.shape[0] or column >= image.shape[1]:
        return
    acc = 0.0
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            r = row - mask.shape[0] // 2 + i
            c = column - mask.shape[1] // 2 + j
            if r < 0 or c < 0 or r >= image.shape[0] or c >= image.shape[1]:
                acc += mask[i, j] * border_value
            else:
                acc += mask[i, j] * image[r, c]
    out[row, column] = acc
