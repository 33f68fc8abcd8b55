"""Memory for results on the CPU that begins at another offset within its page than the picture.

NumPy's large arrays all begin at the same offset. With rows of whole pages a result is then written at the
low address bits at which the picture is read, and both compete for the few cache lines of these bits:
`cpu-parallel` takes 1.33 ms instead of 1.13 (5 x 5 on 2048 x 2048 float32).
"""

import math

import numpy as np
from numpy.typing import DTypeLike

PAGE_BYTES = 4096
# 256 bytes to 3 KB are equally good. With rows of half or a quarter of a page none begins at the picture's
# offset either.
ANTI_ALIAS_BYTES = 1536
# NumPy's own arrays begin at such addresses, so no sample lies across one.
ALIGNMENT_BYTES = 16


def empty_result(image: np.ndarray, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an uninitialised, C-contiguous array that begins ANTI_ALIAS_BYTES after the picture in its page.

    `image` is the picture that the result will be computed from.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return placed_result(np.empty(size + PAGE_BYTES, np.uint8), image, shape, dtype)


def placed_result(
    memory: np.ndarray, image: np.ndarray, shape: tuple[int, ...], dtype: DTypeLike
) -> np.ndarray:
    """Return such an array within `memory`, bytes that are at least PAGE_BYTES more than it takes."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    wanted = (image.ctypes.data + ANTI_ALIAS_BYTES) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
    first = (wanted - memory.ctypes.data) % PAGE_BYTES
    return memory[first : first + size].view(dtype).reshape(shape)
