"""How a sample becomes the level of the screen, from 0 to 255: the rule of `display_levels` for one number.

No Numba in here.
"""

import math

import numpy as np


def scale_and_shift_of(white: float, range_mode: str) -> tuple[float, float, bool] | None:
    """Return (scale, shift, absolute) that map samples to 0 .. 255; None for a range of the whole picture."""
    if range_mode == "rescale":
        return None
    if range_mode == "offset":
        middle = (white + 1) // 2 if white > 1 else 0.5
        return 255.0 / white, middle * 255.0 / white, False
    return 255.0 / white, 0.0, range_mode == "absolute"


def shown_level(value: float, range_mode: str, white: float) -> int | None:
    """Return the level of a sample on the screen; None where it depends on the whole picture."""
    found = scale_and_shift_of(white, range_mode)
    if found is None:
        return None
    scale, shift, is_absolute = found
    if math.isnan(value):
        return 0
    with np.errstate(over="ignore"):
        level = np.float32(abs(value) if is_absolute else value) * np.float32(scale) + np.float32(shift)
    return int(np.rint(np.fmin(np.fmax(level, np.float32(0)), np.float32(255))))
