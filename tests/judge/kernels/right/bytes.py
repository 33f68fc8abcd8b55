"""Bytes in, floats out; the mask waits in shared memory."""
# type: uint8
# border: reflect
# expect: right

import numba
from numba import cuda


@cuda.jit(device=True)
def reflect(index, length):
    while index < 0 or index >= length:
        index = -1 - index if index < 0 else 2 * length - 1 - index
    return index


@cuda.jit
def filter_bytes(image, mask, out, width, height, mask_width, mask_height):
    weights = cuda.shared.array(81, numba.float32)
    rank = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if rank < mask_width * mask_height:
        weights[rank] = mask[rank // mask_width, rank % mask_width]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x < width and y < height:
        s = numba.float32(0.0)
        for i in range(mask_height):
            for j in range(mask_width):
                row = reflect(y + i - mask_height // 2, height)
                column = reflect(x + j - mask_width // 2, width)
                s += weights[i * mask_width + j] * numba.float32(image[row, column])
        out[y, x] = s
