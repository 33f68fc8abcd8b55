"""The last column counts as outside."""
# block: 32 8
# expect: wrong wrong 20

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    rows, columns = image.shape
    if y < rows and x < columns:
        s = float32(0.0)
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                r = y + i - mask.shape[0] // 2
                c = x + j - mask.shape[1] // 2
                if 0 <= r < rows and 0 <= c < columns - 1:
                    s += image[r, c] * mask[i, j]
        out[y, x] = s
