"""Page-locked memory of the host, which a device copies by itself; kept, as 2 MB take 1 ms to make."""

import math
import weakref

import numpy as np
from numpy.typing import DTypeLike

from engine.device.numba_cuda import cuda
from engine.device.spares import Spares

MOST_SPARES = 24
MOST_SPARE_BYTES = 1 << 30
_spares: Spares[np.ndarray] = Spares(lambda memory: memory.nbytes, MOST_SPARES)


def pinned_array(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an uninitialised array; once it is dropped its memory serves others, despite any views."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = _spares.take(size)
    if memory is None:
        memory = _new(max(1, size))
    array: np.ndarray = memory[:size].view(dtype).reshape(shape)
    weakref.finalize(array, _spares.keep, [memory], MOST_SPARE_BYTES).atexit = False
    return array


def _new(size: int) -> np.ndarray:
    try:
        memory: np.ndarray = cuda.pinned_array(size, np.uint8)
    except Exception:  # noqa: BLE001 - "out of memory" has many types
        _spares.trim(0)
        memory = cuda.pinned_array(size, np.uint8)
    return memory
