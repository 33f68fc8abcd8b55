"""The input has another name than `image`."""
# expect: refused

from numba import cuda


@cuda.jit
def conv(picture, mask, out):
    x, y = cuda.grid(2)
    if y < picture.shape[0] and x < picture.shape[1]:
        out[y, x] = mask[0, 0] * picture[y, x]
