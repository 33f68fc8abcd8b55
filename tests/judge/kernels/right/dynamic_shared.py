"""The mask in dynamic shared memory."""
# shared: 324
# expect: right

from numba import cuda, float32


@cuda.jit
def k(image, mask, out, width, height, mask_width, mask_height):
    w = cuda.shared.array(0, float32)
    t = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if t < mask_width * mask_height:
        w[t] = mask[t // mask_width, t % mask_width]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x < width and y < height:
        s = float32(0.0)
        for i in range(mask_height):
            for j in range(mask_width):
                r = y + i - mask_height // 2
                c = x + j - mask_width // 2
                if 0 <= r < height and 0 <= c < width:
                    s += w[i * mask_width + j] * image[r, c]
        out[y, x] = s
