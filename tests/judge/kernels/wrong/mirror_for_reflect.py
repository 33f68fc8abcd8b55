"""Mirrors about the last cell where the border reflects about its edge."""
# border: reflect
# expect: wrong wrong 31

from numba import cuda, float32


@cuda.jit(device=True)
def inside(k, n):
    if n == 1:
        return 0
    while k < 0 or k >= n:
        if k < 0:
            k = -k
        else:
            k = 2 * n - 2 - k
    return k


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    h, w = image.shape
    if x < w and y < h:
        acc = float32(0.0)
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                r = inside(y + i - mask.shape[0] // 2, h)
                c = inside(x + j - mask.shape[1] // 2, w)
                acc += mask[i, j] * image[r, c]
        out[y, x] = acc
