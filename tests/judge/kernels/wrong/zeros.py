"""Writes zeros: quick."""
# block: 32 8
# expect: wrong wrong 12

from numba import cuda


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = 0
