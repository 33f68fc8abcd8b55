"""What people pass as an array, read as NumPy's, and what becomes of the types of arrays in files."""

from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.image.faults import Refused

DEPTH_TEXTS = {
    np.dtype(np.uint8): "8 bit",
    np.dtype(np.uint16): "16 bit",
    np.dtype(np.float32): "32-bit float",
}
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


# The memory that NumPy reads: kDLCPU, and what CUDA and ROCm lock of the host's.
_DLPACK_HOSTS = (1, 3, 11)


def as_array(image: object) -> np.ndarray:
    """Return a picture as a NumPy array, as `host_array` does; a `BadValue` says why it is none."""
    if image is None:
        raise BadValue(
            "None",
            "a picture is an array",
            "Look where it comes from: some libraries return None for a file that they cannot open.",
        )
    return host_array(image, "The picture")


def host_array(values: Any, name: str) -> np.ndarray:
    """Return values as a NumPy array, of the same memory where that can be.

    They are in a sequence, or in what has NumPy's protocols (a `Picture`), a buffer or DLPack in the host's
    memory. A `BadValue` says why all else, called `name`, cannot be read.
    """
    refuse_masked(values)
    try:
        array = np.from_dlpack(values) if _is_read_by_dlpack(values) else np.asarray(values)
    # What CuPy, torch and DLPack raise for memory or types that NumPy does not know.
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        if isinstance(error, ValueError) and isinstance(values, list | tuple):
            remedy = "Give every row the same number of values."
            raise BadValue(f"{name} is not an array", "its rows differ in length", remedy) from error
        raise _unreadable(values, error) from error
    # To NumPy everything is at least one object.
    if array.dtype == object and array.ndim == 0 and _is_elsewhere(values):
        raise _unreadable(values)
    return array


def shape_refusal(shape: tuple[int, ...]) -> tuple[str, str]:
    """Return why an array of a shape is no picture, and what helps: channels are the last axis."""
    is_stack = len(shape) == 4 or (len(shape) == 3 and not shape[2] < min(shape[:2]))
    if is_stack:
        return (
            f"its shape is {shape}: a stack of {shape[0]:,} pictures, not one",
            "Pass one picture at a time: array[0], array[1], … "
            "(channels that come first go last with numpy.moveaxis(array, 0, -1)).",
        )
    return (
        f"its shape is {shape}; a picture is rows × columns, or rows × columns × 1 to 4 channels",
        "Put the channels last, and pass them in groups of at most 4.",
    )


def refuse_masked(values: object) -> None:
    """Refuse a masked array, of which NumPy would take the hidden values too."""
    # Known by its method: numpy.ma takes 15 ms to import.
    if hasattr(values, "filled"):
        raise BadValue(
            "A masked array",
            "which of its values are hidden would be lost",
            "Fill them first, such as with array.filled(0).",
        )


def _is_read_by_dlpack(values: object) -> bool:
    kind = type(values)
    if kind in (np.ndarray, list):
        return False  # the usual ones at once: this is asked with every mask
    if any(hasattr(kind, name) for name in ("__array__", "__array_interface__", "__array_struct__")):
        return False
    return hasattr(kind, "__dlpack__") and _dlpack_device(values) in _DLPACK_HOSTS


def _is_elsewhere(values: object) -> bool:
    """Return whether it is an array in memory that only a device reads."""
    if hasattr(values, "__cuda_array_interface__"):
        return True
    return hasattr(values, "__dlpack__") and _dlpack_device(values) not in _DLPACK_HOSTS


def _dlpack_device(values: object) -> int | None:
    return int(values.__dlpack_device__()[0]) if hasattr(values, "__dlpack_device__") else None


def _unreadable(values: object, error: Exception | None = None) -> BadValue:
    what = f"An array of type {type(values).__name__}"
    if _is_elsewhere(values):
        return BadValue(
            what,
            "it is in a device's memory, and this call computes from the host's",
            "Copy it to the host first: array.get() of CuPy, array.cpu() of torch.",
        )
    return BadValue(what, f"NumPy cannot read it ({error})", "Pass a NumPy array of its values.")
