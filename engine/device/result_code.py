"""`cpu_result`: how compiled CPU code stores a result; the rules are those of `result_rules.py`."""

from numba import njit

from engine.device.result_rules import ZERO, largest_of, rounding_to

LARGEST_8_BIT = largest_of("uint8")
_to_8_bit = njit(nogil=True, inline="always")(rounding_to(LARGEST_8_BIT))
_to_16_bit = njit(nogil=True, inline="always")(rounding_to(largest_of("uint16")))


@njit(nogil=True)
def cpu_result(value, largest):
    """Return a sum as it is stored: a whole number up to `largest`, or unchanged where that is 0."""
    if largest == ZERO:
        return value
    return _to_8_bit(value) if largest == LARGEST_8_BIT else _to_16_bit(value)
