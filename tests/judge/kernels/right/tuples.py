"""Tuples of constants, and a function that returns two values."""
# mask: 3 3
# expect: right

from numba import cuda, float32

OFFSETS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 0), (0, 1), (1, -1), (1, 0), (1, 1))


@cuda.jit(device=True)
def corner(x, y):
    return x - 1, y - 1


@cuda.jit
def k(image, mask, out, width, height):
    x, y = cuda.grid(2)
    if x >= width or y >= height:
        return
    x0, y0 = corner(x, y)
    s = float32(0)
    for n in range(9):
        dy, dx = OFFSETS[n]
        r, c = y + dy, x + dx
        if 0 <= r < height and 0 <= c < width:
            s += mask[r - y0, c - x0] * image[r, c]
    out[y, x] = s
