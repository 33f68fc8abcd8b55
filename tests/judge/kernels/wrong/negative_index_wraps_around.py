"""Only the far edges are checked; an index of -1 is the last cell in Python, and in Numba too."""
# mask: 3 3
# expect: wrong wrong 17

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        acc = float32(0.0)
        for i in range(-1, 2):
            for j in range(-1, 2):
                if y + i < image.shape[0] and x + j < image.shape[1]:
                    acc += mask[i + 1, j + 1] * image[y + i, x + j]
        out[y, x] = acc
