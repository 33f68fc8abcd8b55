"""The result is stored one column to the left; the last one wraps to the end of its row."""
# block: 64 2
# expect: wrong wrong 19

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        acc = float32(0.0)
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                r = y + i - mask.shape[0] // 2
                c = x + j - mask.shape[1] // 2
                if 0 <= r < image.shape[0] and 0 <= c < image.shape[1]:
                    acc += mask[i, j] * image[r, c]
        out[y, x - 1] = acc
