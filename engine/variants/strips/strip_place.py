"""Where a warp's strip lies in the picture."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.strips.strip_shape import STRIP_SAMPLES


def strip_place() -> Any:
    """Return the function `place(number, samples)` -> the strip's band, its left sample, its own first one.

    Strips are numbered along the rows of a picture, of `samples` samples each, band below band. The last one
    of a row begins so far left that at most 3 of its samples are past the picture: what it reads there is
    copied as everywhere else, not cell by cell. Samples from its left one to before its own first one are
    stored by the strip beside it.

    All strips run at once, so a slow one holds up all others: `split-float16`, 9 x 9 float32, H200, with the
    last strip where it would lie else, and with this: 3000 x 3000 BEFORE and AFTER us.
    """

    def place(code, number, samples):
        number, samples = code.narrow(number), code.narrow(samples)
        across = (samples + (STRIP_SAMPLES - 1)) // STRIP_SAMPLES
        band, column = divmod(number, across)
        own = column * STRIP_SAMPLES
        last = code.larger((samples + (VECTOR - 1) & -VECTOR) - STRIP_SAMPLES, 0)
        return [code.wide(value) for value in (band, code.smaller(own, last), own)]

    return device_function(types.UniTuple(types.int64, 3), place)
