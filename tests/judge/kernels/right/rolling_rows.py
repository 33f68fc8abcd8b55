"""A thread goes down 8 rows of its column and keeps five rows of sums in a local array."""
# block: 64
# results: 64 8
# mask: 5 5
# expect: right

import numpy as np
from numba import cuda

ROWS = 8


@cuda.jit
def rolling(image, mask, out):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    top = cuda.blockIdx.y * ROWS
    height, width = image.shape
    if x >= width:
        return
    sums = cuda.local.array(5, np.float32)
    for k in range(5):
        sums[k] = np.float32(0.0)
    for sy in range(top - 2, top + ROWS + 2):
        for i in range(5):
            part = np.float32(0.0)
            if 0 <= sy < height:
                for j in range(5):
                    sx = x + j - 2
                    if 0 <= sx < width:
                        part += mask[i, j] * image[sy, sx]
            # This row is row i of the mask for the result at sy + 2 - i.
            sums[(sy + 2 - i) % 5] += part
        y = sy - 2
        if y >= top and y < top + ROWS and y < height:
            out[y, x] = sums[y % 5]
        sums[y % 5] = np.float32(0.0)
