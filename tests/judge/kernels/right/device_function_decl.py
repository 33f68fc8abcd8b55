"""A signature in the decorator, a device function that is not inlined."""
# border: replicate
# expect: right

from numba import cuda, float32, int32

R = 1


@cuda.jit(device=True, inline="never")
def clamp(v: int32, low, high):
    return low if v < low else (high if v > high else v)


def plain(a, b):
    return a * b


@cuda.jit(
    "void(float32[:, ::1], float32[:, ::1], float32[:, ::1], int64, int64, int64, int64)", fastmath=True
)
def k(image, mask, out, width, height, mask_width, mask_height):
    x, y = cuda.grid(2)
    if x < width and y < height:
        s = float32(0)
        for i in range(mask_height):
            for j in range(mask_width):
                r = clamp(y + i - mask_height // 2, 0, height - 1)
                c = clamp(x + j - mask_width // 2, 0, width - 1)
                s += plain(mask[i, j], image[r, c])
        out[y, x] = s
