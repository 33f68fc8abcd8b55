"""Numba has no lists of lists in kernels."""
# expect: refused

from numba import cuda


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        window = [[image[y, x] for _ in range(3)] for _ in range(3)]
        out[y, x] = sum(map(sum, window)) * mask[0, 0]
