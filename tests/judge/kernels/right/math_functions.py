"""Mathematical functions with full precision."""
# expect: right

import math

from numba import cuda, float32


@cuda.jit
def k(image, mask, out, width, height, mask_width, mask_height):
    x, y = cuda.grid(2)
    if x >= width or y >= height:
        return
    s = float32(0.0)
    for i in range(mask_height):
        for j in range(mask_width):
            r = y + i - mask_height // 2
            c = x + j - mask_width // 2
            if 0 <= r < height and 0 <= c < width:
                s += mask[i, j] * image[r, c]
    a = float32(x)
    s *= math.sin(a) ** 2 + math.cos(a) ** 2
    s *= math.exp(float32(0.0)) * math.sqrt(float32(1.0)) * math.cosh(0.0)
    s += math.log(float32(1.0)) + math.floor(0.5) + math.fabs(0.0) + math.atan2(0.0, 1.0)
    s += math.pow(0.0, 2.0) + math.tanh(float32(0)) + math.ceil(-0.5) + abs(0) + min(0, 1)
    s += max(0, -1) + cuda.popc(0) + cuda.fma(0.0, 1.0, 0.0) + round(0.2)
    out[y, x] = s
