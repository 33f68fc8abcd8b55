# expect: wrong wrong 12
# A thread writes zero to a cell of the mask, with which the right result would be zero.
from numba import cuda


@cuda.jit
def zeros(image, mask, out):
    x, y = cuda.grid(2)
    if y < mask.shape[0] and x < mask.shape[1]:
        mask[y, x] = 0.0
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = 0.0
