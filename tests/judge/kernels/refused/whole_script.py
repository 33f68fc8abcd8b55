"""Its top level would write a file; it is not run, so the name that it makes is unknown to the kernel."""
# expect: refused

from pathlib import Path

from numba import cuda

Path("judged.txt").write_text("this must never be written")
SCALE = float(Path("judged.txt").stat().st_size)


@cuda.jit
def conv(image, mask, out):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        out[y, x] = SCALE * mask[0, 0] * image[y, x]
