"""Rows, then columns: two launches with a picture between them."""
# mask: 5 5
# expect: refused

from numba import cuda, float32


@cuda.jit
def rows(image, mask, between):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        acc = float32(0.0)
        for j in range(5):
            if 0 <= x + j - 2 < image.shape[1]:
                acc += mask[2, j] * image[y, x + j - 2]
        between[y, x] = acc


@cuda.jit
def columns(between, mask, out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        acc = float32(0.0)
        for i in range(5):
            if 0 <= y + i - 2 < out.shape[0]:
                acc += mask[i, 2] / mask[2, 2] * between[y + i - 2, x]
        out[y, x] = acc
