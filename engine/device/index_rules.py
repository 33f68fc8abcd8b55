"""The border's index rules, compiled for the CPU and for CUDA from the very functions of `engine.geometry.border`."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from engine.device.numba_cuda import cuda
from engine.geometry import border as borders
from engine.geometry.border import Border

from numba import njit  # isort: skip  (numba_cuda says first where compiled code is kept)

_ghost = njit(nogil=True, inline="always")(borders.ghost)
_replicate = njit(nogil=True, inline="always")(borders.replicate)
_reflect = njit(nogil=True, inline="always")(borders.reflect)
_mirror = njit(nogil=True, inline="always")(borders.mirror)
_wrap = njit(nogil=True, inline="always")(borders.wrap)

_CODES = {
    Border.ZERO: 0,
    Border.CONSTANT: 0,
    Border.REPLICATE: 1,
    Border.REFLECT: 2,
    Border.MIRROR: 3,
    Border.WRAP: 4,
}


def cpu_code(border: Border) -> int:
    """Return the number by which compiled CPU code knows a border."""
    return _CODES[border]


@njit(nogil=True)
def source_index(index: int, length: int, code: int) -> int:
    """Return the index inside 0 .. length - 1 whose value stands at `index`, or -1 for a ghost cell.

    A run-time choice, so that one compilation serves every border and can be kept on disk.
    """
    if 0 <= index < length:
        return index
    if code == 0:
        return _ghost(index, length)
    if code == 1:
        return _replicate(index, length)
    if code == 2:
        return _reflect(index, length)
    if code == 3:
        return _mirror(index, length)
    return _wrap(index, length)


@lru_cache
def cuda_rule(border: Border) -> Callable[..., Any]:
    """Return the border's rule as a CUDA device function: a compile-time choice, no branch in the kernel."""
    return cuda.jit(device=True, inline="always")(border.rule)
