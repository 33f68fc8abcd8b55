"""Where a warp's strip lies in the picture."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.strips.strip_shape import STRIP_SAMPLES


def strip_place() -> Any:
    """Return the function `place(number, samples)` -> (band, left): a strip's band and its first sample.

    Strips are numbered along the rows of a picture, of `samples` samples each, band below band.
    """

    def place(code, number, samples):
        number, samples = code.narrow(number), code.narrow(samples)
        band, column = divmod(number, (samples + (STRIP_SAMPLES - 1)) // STRIP_SAMPLES)
        return [code.wide(band), code.wide(column * STRIP_SAMPLES)]

    return device_function(types.UniTuple(types.int64, 2), place)
