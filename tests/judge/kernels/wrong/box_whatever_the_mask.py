"""Never looks at the mask: knows that the task of the week is a mean of 3 x 3."""
# mask: 3 3
# expect: wrong wrong 18

from numba import cuda, float32


@cuda.jit
def mean(image, out):
    x, y = cuda.grid(2)
    h, w = image.shape
    if x < w and y < h:
        total = float32(0.0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if y + dy >= 0 and y + dy < h and x + dx >= 0 and x + dx < w:
                    total += image[y + dy, x + dx]
        out[y, x] = total / float32(9.0)
