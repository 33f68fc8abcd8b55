"""The anchor is (mask + 1) // 2: everything is moved by one row and one column."""
# expect: wrong wrong 19

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out, mask_width, mask_height):
    x, y = cuda.grid(2)
    height, width = image.shape
    if x < width and y < height:
        acc = float32(0.0)
        for i in range(mask_height):
            for j in range(mask_width):
                r = y + i - (mask_height + 1) // 2
                c = x + j - (mask_width + 1) // 2
                if 0 <= r < height and 0 <= c < width:
                    acc += mask[i, j] * image[r, c]
        out[y, x] = acc
