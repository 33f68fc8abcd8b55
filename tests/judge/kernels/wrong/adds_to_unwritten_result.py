"""Adds to a result that nobody set to zero."""
# expect: wrong unwritten 17

from numba import cuda


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if x >= image.shape[1] or y >= image.shape[0]:
        return
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            r = y + i - mask.shape[0] // 2
            c = x + j - mask.shape[1] // 2
            if r >= 0 and r < image.shape[0] and c >= 0 and c < image.shape[1]:
                out[y, x] += mask[i, j] * image[r, c]
