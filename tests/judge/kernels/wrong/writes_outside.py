"""Nobody asks whether the pixel is inside the picture."""
# expect: wrong outside 17

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    column, row = cuda.grid(2)
    acc = float32(0.0)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            r = row + i - mask.shape[0] // 2
            c = column + j - mask.shape[1] // 2
            if r >= 0 and r < image.shape[0] and c >= 0 and c < image.shape[1]:
                acc += mask[i, j] * image[r, c]
    out[row, column] = acc
