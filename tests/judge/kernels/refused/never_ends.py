"""The loop over the columns never goes on to the next one."""
# expect: refused

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        acc = float32(0.0)
        for i in range(mask.shape[0]):
            j = 0
            while j < mask.shape[1]:
                acc += mask[i, j] * image[y, x]
        out[y, x] = acc
