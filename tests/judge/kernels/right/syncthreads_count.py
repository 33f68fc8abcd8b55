"""Barriers that also count."""
# expect: right

from numba import cuda, float32, int32


@cuda.jit
def k(image, mask, out, width, height, mask_width, mask_height):
    x, y = cuda.grid(2)
    inside = x < width and y < height
    n = cuda.syncthreads_count(int32(inside))
    any_ = cuda.syncthreads_or(int32(inside))
    all_ = cuda.syncthreads_and(int32(inside))
    if not inside:
        return
    s = float32(0.0)
    for i in range(mask_height):
        for j in range(mask_width):
            r = y + i - mask_height // 2
            c = x + j - mask_width // 2
            if 0 <= r < height and 0 <= c < width:
                s += mask[i, j] * image[r, c]
    out[y, x] = s if n > 0 and any_ and (all_ != 0) == (n == 256) else float32(-1)
