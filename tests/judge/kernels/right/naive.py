"""One thread computes one pixel."""
# expect: right

from numba import cuda, float32


@cuda.jit
def naive(image, mask, out):
    x, y = cuda.grid(2)
    height, width = image.shape
    if x < width and y < height:
        total = float32(0.0)
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                row = y + i - mask.shape[0] // 2
                column = x + j - mask.shape[1] // 2
                if 0 <= row < height and 0 <= column < width:
                    total += mask[i, j] * image[row, column]
        out[y, x] = total
