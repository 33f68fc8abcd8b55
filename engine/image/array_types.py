"""The sample types of arrays in files, and what becomes of each, as of `Picture.from_array`."""

import numpy as np

from engine.image.faults import Refused
from engine.image.picture import DEPTH_TEXTS

# Types of an array that become another one, and the sentence for the person.
_CONVERTED: dict[np.dtype, tuple[np.dtype, str]] = {
    np.dtype(np.bool_): (np.dtype(np.uint8), "Its values are true and false; they became 255 and 0."),
    np.dtype(np.float64): (np.dtype(np.float32), "Its 64-bit float values were opened as 32-bit float."),
    np.dtype(np.float16): (np.dtype(np.float32), "Its 16-bit float values were opened as 32-bit float."),
}


def sample_type(stored: np.dtype) -> tuple[np.dtype, tuple[str, ...]]:
    """Return the type that stored values have as a picture, and notes; refuse others."""
    native = stored.newbyteorder("=") if stored.kind in "buifc" else stored
    if native in DEPTH_TEXTS:
        return native, ()
    if native in _CONVERTED:
        dtype, note = _CONVERTED[native]
        return dtype, (note,)
    if native.kind in "iu":
        kind = "signed integers" if native.kind == "i" else "integers"
        exact = ", exact up to 16,777,216" if native.itemsize > 2 else ""
        return np.dtype(np.float32), (
            f"Its {8 * native.itemsize}-bit {kind} were opened as 32-bit float{exact}.",
        )
    raise Refused(
        f"its values are {native}; a picture has whole numbers, or float of up to 64 bits",
        "Scale it to the range that you want and save it as one of these, for example with "
        ".astype(numpy.float32).",
    )


def converted(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return stored values in the type that they have as a picture."""
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255)
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)


def scaled(values: np.ndarray, most: int, dtype: np.dtype) -> np.ndarray:
    """Return whole numbers up to `most`, which becomes full scale of a type of 8 or 16 bit, rounded."""
    full = np.uint32(np.iinfo(dtype).max)
    # Half of what it is divided by makes it round; 65535 x 65535 and that stay within 32 bits.
    return ((values.astype(np.uint32) * full + np.uint32(most // 2)) // np.uint32(most)).astype(dtype)
