"""How a float32 sum becomes a result of 8 or 16 bit: one plain function, compiled for the CPU and for CUDA.

The CPU chooses at run time (`cpu_largest`), so that one compilation serves every type and can be kept on
disk; CUDA when it compiles (`numba_cuda.cuda_result`), so that a kernel for float32 contains none of this.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiled.late_names import late_njit

ZERO = np.float32(0.0)
# From 2^23 to 2^24 float32 has whole numbers only, so adding this rounds values below 2^22, half to even.
WHOLE_NUMBERS_ONLY = np.float32(2**23 + 2**22)


def rounding_to(largest: np.float32) -> Callable[[object], object]:
    """Return the function that makes a float32 sum a whole number from 0 to `largest`, still a float32.

    It saturates, infinity too, and rounds half to even; NaN becomes 0.
    """

    def rounded(value: Any) -> object:
        # "not >": NaN is not above 0 either.
        if not value > ZERO:
            return ZERO
        if value >= largest:
            return largest
        return value + WHOLE_NUMBERS_ONLY - WHOLE_NUMBERS_ONLY

    return rounded


def largest_of(result_dtype: str) -> np.float32:
    """Return the largest result of 8 or 16 bit."""
    return np.float32(np.iinfo(result_dtype).max)


def cpu_largest(result_dtype: str) -> np.float32:
    """Return the second argument of `cpu_result` for a type of result: its largest number; 0 for float32."""
    return ZERO if result_dtype == "float32" else largest_of(result_dtype)


_LARGEST_8_BIT = largest_of("uint8")
_to_8_bit = late_njit(nogil=True, inline="always")(rounding_to(_LARGEST_8_BIT))
_to_16_bit = late_njit(nogil=True, inline="always")(rounding_to(largest_of("uint16")))


@late_njit(nogil=True)
def cpu_result(value, largest):
    """Return a sum as it is stored: a whole number up to `largest`, or unchanged where that is 0."""
    if largest == ZERO:
        return value
    return _to_8_bit(value) if largest == _LARGEST_8_BIT else _to_16_bit(value)
