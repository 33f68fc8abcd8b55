"""Each product is cut to a whole number."""
# type: uint8
# expect: wrong wrong 19

from numba import cuda


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        total = 0
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                r = y + i - mask.shape[0] // 2
                c = x + j - mask.shape[1] // 2
                if 0 <= r < image.shape[0] and 0 <= c < image.shape[1]:
                    total += int(mask[i, j] * image[r, c])
        out[y, x] = total
