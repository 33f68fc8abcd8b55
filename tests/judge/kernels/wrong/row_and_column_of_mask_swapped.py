"""The mask is read as mask[j, i]: right for masks that equal their transpose."""
# mask: 5 5
# expect: wrong wrong 19

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if y >= image.shape[0] or x >= image.shape[1]:
        return
    acc = float32(0.0)
    for i in range(5):
        for j in range(5):
            r, c = y + i - 2, x + j - 2
            if r >= 0 and c >= 0 and r < image.shape[0] and c < image.shape[1]:
                acc += mask[j, i] * image[r, c]
    out[y, x] = acc
