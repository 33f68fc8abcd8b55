"""Inks and YCbCr to RGB, premultiplied to straight alpha; which colour profile fits."""

import numpy as np
from numpy.typing import NDArray

# Y, Cb, Cr of ITU-R BT.601, the default of TIFF and the rule of JPEG.
_YCBCR_TO_RGB = np.array([[1.0, 0.0, 1.402], [1.0, -0.344136, -0.714136], [1.0, 1.772, 0.0]])


def full_scale_of(dtype: np.dtype) -> float:
    """Return the value of white, and of opaque: 255, 65535, or 1 for float."""
    return 1.0 if dtype.kind == "f" else float(np.iinfo(dtype).max)


def cmyk_to_rgb(inks: np.ndarray) -> np.ndarray:
    """Return RGB of inks (CMYK, (H, W, 4)) by (1 - ink)(1 - black), without a profile."""
    full = full_scale_of(inks.dtype)
    paper = full - inks.astype(np.float64)
    return _rounded(paper[..., :3] * paper[..., 3:] / full, inks.dtype)


def ycbcr_to_rgb(values: np.ndarray) -> np.ndarray:
    """Return RGB of luma and colour differences, (H, W, 3) (ITU-R BT.601, full range)."""
    full = full_scale_of(values.dtype)
    middle = 0.5 if full == 1.0 else (full + 1) / 2
    centred = values.astype(np.float64)
    centred[..., 1:] -= middle
    return _rounded(centred @ _YCBCR_TO_RGB.T, values.dtype)


def unpremultiplied(pixels: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return colours (H, W, C) divided by their alpha (H, W); a clear pixel keeps what it has."""
    opacity = alpha.astype(np.float64)[..., np.newaxis] / full_scale_of(pixels.dtype)
    straight = pixels.astype(np.float64)
    np.divide(straight, opacity, out=straight, where=opacity > 0)
    return _rounded(straight, pixels.dtype)


def _rounded(values: NDArray[np.float64], dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "f":
        return values.astype(dtype)
    return np.rint(np.clip(values, 0, np.iinfo(dtype).max)).astype(dtype)


def profile_fits(profile: bytes | None, channels: int) -> bool:
    """Return whether an ICC profile describes grey (1 channel) or RGB (3 channels).

    The profile of a CMYK file no longer fits once its pixels are RGB, and readers reject it.
    """
    # Bytes 16 to 19 name the colour space.
    space = b"GRAY" if channels == 1 else b"RGB "
    return profile is not None and len(profile) >= 128 and profile[16:20] == space
