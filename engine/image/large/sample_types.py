"""The sample types of arrays in files, and what becomes of each, as of `Picture.from_array`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.image.faults import Refused
from engine.image.large.source import MOST_CHANNELS
from engine.image.picture import DEPTH_TEXTS

# Types of an array that become another one, and the sentence for the person.
_CONVERTED: dict[np.dtype[Any], tuple[np.dtype[Any], str]] = {
    np.dtype(np.bool_): (np.dtype(np.uint8), "Its values are true and false; they became 255 and 0."),
    np.dtype(np.float64): (np.dtype(np.float32), "Its 64-bit float values were opened as 32-bit float."),
    np.dtype(np.float16): (np.dtype(np.float32), "Its 16-bit float values were opened as 32-bit float."),
}


def sample_type(stored: np.dtype[Any]) -> tuple[np.dtype[Any], tuple[str, ...]]:
    """Return the type that stored values have as a picture, and notes; refuse others."""
    native = stored.newbyteorder("=") if stored.kind in "buifc" else stored
    if native in DEPTH_TEXTS:
        return native, ()
    if native in _CONVERTED:
        dtype, note = _CONVERTED[native]
        return dtype, (note,)
    raise Refused(
        f"its values are {native}; a picture has uint8, uint16 or float32",
        "Scale it to the range that you want and save it as one of these, for example with "
        ".astype(numpy.float32).",
    )


def converted(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return stored values in the type that they have as a picture."""
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255)
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)


def picture_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the shape of an array as rows, columns and channels; refuse what is no picture."""
    rows_columns_channels = (*shape, 1) if len(shape) == 2 else shape
    if len(rows_columns_channels) != 3 or not 1 <= rows_columns_channels[2] <= MOST_CHANNELS:
        raise Refused(
            f"its shape is {shape}; a picture is rows × columns, or rows × columns × 1 to {MOST_CHANNELS}",
            "Put the channels last, and save one picture at a time.",
        )
    if 0 in shape:
        raise Refused(f"an array of shape {shape} has no pixel", "Save one that has.")
    height, width, channels = rows_columns_channels
    return height, width, channels
