"""Reads the cell first and asks afterwards whether it was inside; rows above are never asked for."""
# block: 32 4
# mask: 3 3
# expect: faulty outside 23

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    height = image.shape[0]
    width = image.shape[1]
    if x < width and y < height:
        acc = float32(0.0)
        for i in range(3):
            r = y + i - 1
            if r < 0:
                continue
            for j in range(3):
                c = x + j - 1
                if 0 <= c < width:
                    cell = image[r, c]
                    if r < height:
                        acc += mask[i, j] * cell
        out[y, x] = acc
