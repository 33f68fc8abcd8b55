"""Two warps add to one number in shared memory without an atomic: the last one wins."""
# block: 64
# results: 1 1
# mask: 7 7
# expect: wrong race 22

from numba import cuda, float32


@cuda.jit
def taps_by_threads(image, mask, out):
    total = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    x, y = cuda.blockIdx.x, cuda.blockIdx.y
    if t == 0:
        total[0] = 0.0
    cuda.syncthreads()
    if t < 49:
        r = y + t // 7 - 3
        c = x + t % 7 - 3
        if 0 <= r < image.shape[0] and 0 <= c < image.shape[1]:
            total[0] += mask[t // 7, t % 7] * image[r, c]
    cuda.syncthreads()
    if t == 0:
        out[y, x] = total[0]
