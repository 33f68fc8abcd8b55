"""Column 0 counts as outside."""
# expect: wrong wrong 19

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out, width, height, mask_width, mask_height):
    x, y = cuda.grid(2)
    if x >= width or y >= height:
        return
    acc = float32(0)
    for i in range(mask_height):
        for j in range(mask_width):
            r = y + i - mask_height // 2
            c = x + j - mask_width // 2
            if r >= 0 and c > 0 and r < height and c < width:
                acc += mask[i, j] * image[r, c]
    out[y, x] = acc
