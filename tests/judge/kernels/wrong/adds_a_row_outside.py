"""The last row is allowed to be height itself: one row too many is added."""
# block: 32 4
# expect: wrong outside 20

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    height = image.shape[0]
    width = image.shape[1]
    if x < width and y < height:
        acc = float32(0.0)
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                r = y + i - mask.shape[0] // 2
                c = x + j - mask.shape[1] // 2
                if r >= 0 and r <= height and c >= 0 and c < width:
                    acc += mask[i, j] * image[r, c]
        out[y, x] = acc
