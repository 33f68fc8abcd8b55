"""The row of cells is loaded one ahead; behind the last row of the picture there is none."""
# block: 32 4
# mask: 1 3
# expect: faulty outside 19

from numba import cuda, float32


@cuda.jit
def column_filter(image, mask, out):
    x, y = cuda.grid(2)
    height = image.shape[0]
    width = image.shape[1]
    if x < width and y < height:
        above = float32(0.0)
        if y > 0:
            above = image[y - 1, x]
        here = image[y, x]
        below = image[y + 1, x]
        if y + 1 == height:
            below = float32(0.0)
        out[y, x] = mask[0, 0] * above + mask[1, 0] * here + mask[2, 0] * below
