"""How samples become levels of the screen, from 0 to 255: the rule of `display_levels` for a few of them.

No Numba in here.
"""

import numpy as np
from numpy.typing import NDArray


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
    with np.errstate(over="ignore"):
        return int(np.rint(_levels(np.array([value], np.float32), *found))[0])


def pixels_of(
    samples: np.ndarray,
    scale: float,
    shift: float,
    is_absolute: bool,
    alpha: np.ndarray | None = None,
    white: float = 255.0,
) -> NDArray[np.uint8]:
    """Return a rectangle of samples, H x W x C, as `display_levels.render` shows it: H x W x 4."""
    shown = samples[..., :3] if samples.shape[2] >= 3 else samples[..., :1]
    pixels = np.empty((*samples.shape[:2], 4), np.uint8)
    pixels[..., 3] = 255
    if shown.dtype == np.uint8 and alpha is None and (scale, shift) == (1.0, 0.0):
        pixels[..., :3] = shown[..., ::-1]
        return pixels
    with np.errstate(over="ignore", invalid="ignore"):
        levels = _levels(shown.astype(np.float32), scale, shift, is_absolute)
        if alpha is not None:
            share = (alpha / np.float32(white)).astype(np.float32)
            opacity = np.fmin(np.fmax(share, np.float32(0)), np.float32(1))
            levels *= opacity[..., np.newaxis]
            pixels[..., 3] = np.rint(opacity * np.float32(255))
        pixels[..., :3] = np.rint(levels, out=levels)[..., ::-1]
    return pixels


def _levels(samples: NDArray[np.float32], scale: float, shift: float, is_absolute: bool) -> np.ndarray:
    """Return samples as levels that are not rounded yet, in their own memory; NaN as 0."""
    if is_absolute:
        np.abs(samples, out=samples)
    samples *= np.float32(scale)
    samples += np.float32(shift)
    np.fmax(samples, np.float32(0), out=samples)
    return np.fmin(samples, np.float32(255), out=samples)
