"""Pictures as the variants of every task take them: types and axes, random ones to measure with."""

import sys
import warnings

import numpy as np

from engine.errors import BadValue

DTYPES = ("uint8", "uint16", "float32")
MAX_CHANNELS = 4
EXACT_LIMIT = 2**24
"""Whole numbers up to this size are exact in float32."""

# By the kind of NumPy's type, where "Convert the picture to float32." does not help or does not say how.
_REMEDIES = {
    "c": "Filter its parts one by one, image.real and image.imag.",
    "V": "Take one field of its records, or convert the picture to float32.",
    "O": "Look for what is no number in it, and convert it, such as with image.astype(numpy.float32).",
} | dict.fromkeys("MmSUT", "Convert the picture to numbers first, such as with image.astype(numpy.float32).")


def as_samples(image: np.ndarray) -> np.ndarray:
    """Return a picture as the variants take it: (H, W, C), C-contiguous, aligned, in native byte order.

    Raises BadValue as `sample_type`.
    """
    array = np.asarray(image)
    if array.ndim == 0 and array.dtype == object:
        raise BadValue(
            f"a value of type {type(array.item()).__name__}",
            "a picture is an array",
            "Pass an array of shape (H, W) or (H, W, C).",
        )
    if array.ndim == 0 and array.dtype.kind in "US":
        raise BadValue(
            f"the text {str(image)[:40]!r}",
            "a picture is an array",
            "Open a file with engine.open_image first.",
        )
    dtype = sample_type(array.shape, array.dtype)
    if array.dtype.kind in "iu" and array.dtype.itemsize > 2:
        _warn_of_rounding(array)
    # float64 samples past float32's range become infinite, as they would in any float32 program.
    with np.errstate(over="ignore"):
        samples = np.require(array, dtype, ["C", "A"])
    return samples if samples.ndim == 3 else samples.reshape(*samples.shape, 1)


def _warn_of_rounding(array: np.ndarray) -> None:
    """Warn of whole numbers that float32 does not hold; Python shows a warning once for each line."""
    if int(array.max()) <= EXACT_LIMIT and int(array.min()) >= -EXACT_LIMIT:
        return
    level, frame = 1, sys._getframe()
    # The line that called the engine.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "engine":
        level, frame = level + 1, frame.f_back
    warnings.warn(
        f"{array.dtype} is filtered as float32: values beyond {EXACT_LIMIT:,} are rounded to 24 "
        "significant bits",
        stacklevel=level,
    )


def sample_type(shape: tuple[int, ...], given: np.dtype) -> np.dtype:
    """Return the type that a picture of this shape and type is filtered in.

    uint8, uint16 and float32 stay as they are; booleans become uint8; other real types become float32, as the
    results are.

    Raises BadValue: not two or three axes, an empty axis, more than four channels, or not real numbers.
    """
    if len(shape) not in (2, 3):
        raise BadValue(
            f"an array of {len(shape)} {'axis' if len(shape) == 1 else 'axes'}",
            "a picture has rows and columns, and may have channels",
            "Pass an array of shape (H, W) or (H, W, C)"
            + (", one of a stack at a time." if len(shape) > 3 else "."),
        )
    if 0 in shape:
        raise BadValue(f"an array of shape {shape}", "it has no pixels", "Pass at least one pixel.")
    if len(shape) == 3 and shape[2] > MAX_CHANNELS:
        # The engine filters arrays without what opens files.
        from engine.image.convert import shape_refusal

        raise BadValue("this array is not a picture", *shape_refusal(shape))
    if given.kind not in "buif":
        remedy = _REMEDIES.get(given.kind, "Convert the picture to float32.")
        raise BadValue(f"samples of type {given}", "only real numbers can be filtered", remedy)
    dtype = np.dtype(np.uint8) if given.kind == "b" else given.newbyteorder("=")
    return dtype if dtype.name in DTYPES else np.dtype(np.float32)


def random_picture(shape: tuple[int, int, int], dtype: str, seed: int) -> np.ndarray:
    """Return a random picture: whole numbers of the full range, or float32 from 0 to 1."""
    random = np.random.default_rng(seed)
    if dtype == "float32":
        return random.random(shape, np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
