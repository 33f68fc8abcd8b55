"""Blocks that do not lie wholly inside the picture do nothing."""
# block: 8 8
# expect: wrong unwritten -

from numba import cuda, float32


@cuda.jit
def conv(image, mask, out):
    height, width = image.shape
    if (cuda.blockIdx.x + 1) * cuda.blockDim.x > width or (cuda.blockIdx.y + 1) * cuda.blockDim.y > height:
        return
    x, y = cuda.grid(2)
    acc = float32(0.0)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            r = y + i - mask.shape[0] // 2
            c = x + j - mask.shape[1] // 2
            if 0 <= r < height and 0 <= c < width:
                acc += mask[i, j] * image[r, c]
    out[y, x] = acc
