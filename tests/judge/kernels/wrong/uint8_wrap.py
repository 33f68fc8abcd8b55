"""The sum is kept in a byte, as the picture's values are."""
# type: uint8
# expect: wrong wrong 21

import numpy as np
from numba import cuda


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if x >= image.shape[1] or y >= image.shape[0]:
        return
    acc = np.uint8(0)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            r = y + i - mask.shape[0] // 2
            c = x + j - mask.shape[1] // 2
            if r >= 0 and c >= 0 and r < image.shape[0] and c < image.shape[1]:
                acc = np.uint8(acc + np.uint8(np.int32(mask[i, j] * image[r, c])))
    out[y, x] = acc
