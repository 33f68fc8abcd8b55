"""Pixels are counted in 8 bits: right for pictures of up to 256 pixels."""
# expect: wrong wrong 21

import numpy as np
from numba import cuda


@cuda.jit
def conv(image, mask, out, width, height):
    x, y = cuda.grid(2)
    if x >= width or y >= height:
        return
    acc = np.float32(0.0)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            r = y + i - mask.shape[0] // 2
            c = x + j - mask.shape[1] // 2
            if 0 <= r < height and 0 <= c < width:
                k = np.uint8(r * width + c)
                acc += mask[i, j] * image[k // width, k % width]
    out[y, x] = acc
