"""Cells outside are never stored in the window, and read all the same."""
# block: 8 16
# expect: wrong unwritten 24

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    height, width = image.shape
    if x >= width or y >= height:
        return
    window = cuda.local.array(81, float32)
    rows, columns = mask.shape
    for i in range(rows):
        for j in range(columns):
            r = y + i - rows // 2
            c = x + j - columns // 2
            if 0 <= r < height and 0 <= c < width:
                window[i * columns + j] = image[r, c]
    acc = float32(0.0)
    for k in range(rows * columns):
        acc += mask[k // columns, k % columns] * window[k]
    out[y, x] = acc
