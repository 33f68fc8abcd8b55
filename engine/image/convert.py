"""What people pass as an array, read as NumPy's; and from one depth (uint8, uint16, float32) to another.

Values outside are clipped or mapped, never wrapped.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from engine.errors import BadValue, UnknownName
from engine.geometry.border import RANGE_MODES, RangeMode
from engine.image.faults import Refused

_UINT8, _UINT16, _FLOAT32 = (np.dtype(kind) for kind in (np.uint8, np.uint16, np.float32))
DEPTH_TEXTS = {_UINT8: "8 bit", _UINT16: "16 bit", _FLOAT32: "32-bit float"}


def native(dtype: np.dtype) -> np.dtype:
    """Return a type of numbers in the machine's byte order; NumPy's texts of any length have none."""
    return dtype.newbyteorder("=") if dtype.kind in "buifc" else dtype


def sample_type(stored: np.dtype) -> tuple[np.dtype, tuple[str, ...]]:
    """Return the type that stored values have as a picture, and notes; refuse others."""
    kind = native(stored)
    if kind in DEPTH_TEXTS:
        return kind, ()
    if kind == np.bool_:
        return _UINT8, ("Its values are true and false; they became 255 and 0.",)
    if kind.kind in "iu" or kind in (np.float16, np.float64):
        name = {"f": "float values", "i": "signed integers", "u": "integers"}[kind.kind]
        exact = ", exact up to 16,777,216" if kind.kind != "f" and kind.itemsize > 2 else ""
        return _FLOAT32, (f"Its {8 * kind.itemsize}-bit {name} were opened as 32-bit float{exact}.",)
    remedy = "Scale it to the range that you want and save it as one of these, for example with "
    why = f"its values are {kind}; a picture has whole numbers, or float of up to 64 bits"
    raise Refused(why, f"{remedy}.astype(numpy.float32).")


# Bands of 1 MB stay in a core's cache, and what a conversion to float64 takes of them stays small.
_BAND_BYTES = 2**20


def bands(rows: int, row_bytes: int) -> Iterator[slice]:
    """Cut rows into bands of about 1 MB; `row_bytes` is the size of a row before or after its conversion."""
    step = max(1, _BAND_BYTES // max(1, row_bytes))
    for begin in range(0, rows, step):
        yield slice(begin, min(rows, begin + step))


def bands_of(array: np.ndarray) -> Iterator[slice]:
    """Cut the rows of an array into bands of about 1 MB."""
    return bands(len(array), array.nbytes // max(1, len(array)))


def converted(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return stored values in the type that they have as a picture; beyond its range they are infinite."""
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
        remedy = "Look where it comes from: some libraries return None for a file that they cannot open."
        raise BadValue("None", "a picture is an array", remedy)
    return host_array(image, "The picture")


def host_array(values: Any, name: str) -> np.ndarray:
    """Return values as a NumPy array, of the same memory where that can be.

    They are in a sequence, or in what has NumPy's protocols (a `Picture`), a buffer or DLPack in the host's
    memory. A `BadValue` says why all else, called `name`, cannot be read.
    """
    refuse_masked(values)
    kind, fault = type(values), None
    is_of_numpy = any(hasattr(kind, f"__array{part}__") for part in ("", "_interface", "_struct"))
    is_by_dlpack = not is_of_numpy and hasattr(kind, "__dlpack__") and _is_on_host(values)
    try:
        array = np.from_dlpack(values) if is_by_dlpack else np.asarray(values)
    # What CuPy, torch and DLPack raise for memory or types that NumPy does not know.
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        if isinstance(error, ValueError) and isinstance(values, list | tuple):
            remedy = "Give every row the same number of values."
            raise BadValue(f"{name} is not an array", "its rows differ in length", remedy) from error
        array, fault = np.array(None), error
    # To NumPy everything is at least one object.
    if array.dtype == object and array.ndim == 0:
        why, remedy = f"NumPy cannot read it ({fault})", "Pass a NumPy array of its values."
        is_dlpack_elsewhere = hasattr(values, "__dlpack__") and not _is_on_host(values)
        if is_elsewhere := is_dlpack_elsewhere or hasattr(values, "__cuda_array_interface__"):
            why = "it is in a device's memory, and this call computes from the host's"
            remedy = "Copy it to the host first: array.get() of CuPy, array.cpu() of torch."
        if is_elsewhere or fault is not None:
            raise BadValue(f"An array of type {kind.__name__}", why, remedy) from fault
    return array


def shape_refusal(shape: tuple[int, ...]) -> tuple[str, str]:
    """Return why an array of a shape is no picture, and what helps: channels are the last axis."""
    if len(shape) == 4 or (len(shape) == 3 and not shape[2] < min(shape[:2])):
        others = "(channels that come first go last with numpy.moveaxis(array, 0, -1))"
        remedy = f"Pass one picture at a time: array[0], array[1], … {others}."
        return f"its shape is {shape}: a stack of {shape[0]:,} pictures, not one", remedy
    picture = "a picture is rows × columns, or rows × columns × 1 to 4 channels"
    return f"its shape is {shape}; {picture}", "Put the channels last, and pass them in groups of at most 4."


def refuse_masked(values: object) -> None:
    """Refuse a masked array, of which NumPy would take the hidden values too."""
    # Known by its method: numpy.ma takes 15 ms to import.
    if hasattr(values, "filled"):
        why = "which of its values are hidden would be lost"
        raise BadValue("A masked array", why, "Fill them first, such as with array.filled(0).")


def _is_on_host(values: Any) -> bool:
    """Return whether NumPy reads the memory of an array with DLPack."""
    return hasattr(values, "__dlpack_device__") and values.__dlpack_device__()[0] in _DLPACK_HOSTS


def to_depth(
    image: NDArray[np.floating],
    dtype: DTypeLike,
    *,
    range_mode: RangeMode = "clip",
    white: float | None = None,
    ends: tuple[float, float] | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return a float image as 8 or 16 bit, rounded half to even; NaN is 0, infinity an end of the range.

    Raises BadValue or UnknownName: another dtype; no such range mode.

    Parameters
    ----------
    image : ndarray of any shape, float32 or float64
        Its white is full scale, 255 for uint8 and 65535 for uint16, unless `white` says another one.
    dtype : numpy dtype
        uint8 or uint16.
    range_mode : {"clip", "absolute", "offset", "rescale"}
        What to do with values outside the range, see `RANGE_MODES`.
    white : float, optional
        The value that becomes full scale: 1 for a float picture, as it is shown. "rescale" does not need it.
    ends : (float, float), optional
        For "rescale" the smallest and the largest value, of a picture that `image` is a part of
        (`finite_range`). None: those of `image`.
    out : ndarray of the shape of `image`, `dtype`, optional
        Where the result goes.
    """
    target = np.dtype(dtype)
    if target not in (_UINT8, _UINT16):
        raise BadValue(f"A picture cannot be rounded to {target}", "only 8 and 16 bit are whole numbers here")
    if range_mode not in RANGE_MODES:
        known = ", ".join(RANGE_MODES)
        raise UnknownName(f"There is no range mode {range_mode!r}", "", f"Choose one of: {known}.")
    full_scale, result = int(np.iinfo(target).max), np.empty(image.shape, target) if out is None else out
    source, filled = np.atleast_1d(image), np.atleast_1d(result)
    low, high = ends or (finite_range(source) if range_mode == "rescale" else (0.0, 0.0))
    scale = 1.0 if white is None or range_mode == "rescale" else full_scale / white
    # In bands, so that no second float picture is made; 1920 x 1080 RGB takes 6 ms on one core.
    for rows in bands_of(source):
        values = source[rows]
        if scale != 1:
            with np.errstate(over="ignore"):  # of values that are clipped
                values = values * np.float32(scale)
        if range_mode == "absolute":
            values = np.abs(values)
        elif range_mode == "offset":
            # In float32, x + 32768 would round a second time and spoil ties.
            values = values.astype(np.float64) + (full_scale + 1) // 2
        elif range_mode == "rescale":
            # Dividing first keeps the largest value exactly at full scale.
            apart = (values.astype(np.float64) - low) / (high - low) if low < high else np.zeros_like(values)
            values = apart * full_scale
        # fmax and fmin prefer the number to NaN, so that NaN becomes 0.
        values = np.fmax(values, 0, dtype=values.dtype)
        np.fmin(values, full_scale, out=values)
        filled[rows] = np.rint(values)
    return result


def finite_range(image: NDArray[np.floating]) -> tuple[float, float]:
    """Return the smallest and the largest finite value; infinity and its negative where there is none."""
    low, high = np.inf, -np.inf
    for rows in bands_of(image):
        values = image[rows]
        # NaN where there is one: to choose the finite values takes five times as long.
        if not np.isfinite([values.min(), values.max()]).all():
            values = values[np.isfinite(values)]
        if values.size:
            low, high = min(low, float(values.min())), max(high, float(values.max()))
    return low, high


def change_depth(image: np.ndarray, dtype: DTypeLike, *, is_alpha: bool = False) -> np.ndarray:
    """Return the values of a picture, or its alpha, in another depth; `image` itself where nothing changes.

    Between 8 and 16 bit the full scales correspond (255 and 65535). From float 1 is white, as it is shown,
    and values outside 0 to 1 are clipped; to float the numbers are kept, but for opaque alpha, which is 1.
    """
    target = np.dtype(dtype)
    if image.dtype == target:
        return image
    if target == np.float32:
        values = image.astype(np.float32)
        return values / np.float32(np.iinfo(image.dtype).max) if is_alpha else values
    if image.dtype == np.float32:
        return to_depth(image, target, white=1.0)
    if target == np.uint16:
        return image.astype(np.uint16) * np.uint16(257)
    # 65535 = 257 x 255, and 257 is odd: there are no ties, so this rounds to nearest in whole numbers.
    return ((image.astype(np.uint32) + 128) // 257).astype(np.uint8)


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


def halved(pixels: np.ndarray, times: int = 1) -> np.ndarray:
    """Return half of a picture, so many times: means of 2 x 2, rounded; an odd edge is its own neighbour."""
    if times != 1:
        return halved(halved(pixels), times - 1) if times else pixels
    height, width = pixels.shape[:2]
    if height % 2 or width % 2:
        pixels = np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    is_float = pixels.dtype.kind == "f"
    wide = pixels.dtype if is_float else np.uint32 if pixels.itemsize > 1 else np.uint16
    rows = np.add(pixels[0::2], pixels[1::2], dtype=wide)
    total: np.ndarray = rows[:, 0::2] + rows[:, 1::2]
    if is_float:
        return total * np.float32(0.25)
    total += 2
    total >>= 2
    return total.astype(pixels.dtype, copy=False)


def halved_sides(height: int, width: int, most: tuple[float, float]) -> tuple[tuple[int, int], ...]:
    """Return rows and columns of a picture's levels, rounded up, until both are at most so many."""
    levels = [(height, width)]
    while levels[-1][0] > most[0] or levels[-1][1] > most[1]:
        levels.append((-(-levels[-1][0] // 2), -(-levels[-1][1] // 2)))
    return tuple(levels)


def scale_and_shift_of(white: float, range_mode: str) -> tuple[float, float, bool] | None:
    """Return (scale, shift, absolute) from samples to levels of the screen, 0 to 255; None: by all."""
    if range_mode == "rescale":
        return None
    if range_mode == "offset":
        middle = (white + 1) // 2 if white > 1 else 0.5
        return 255.0 / white, middle * 255.0 / white, False
    return 255.0 / white, 0.0, range_mode == "absolute"


def shown_level(value: float, range_mode: str, white: float) -> int | None:
    """Return the level of a sample on the screen; None where it depends on the whole picture."""
    scaling = scale_and_shift_of(white, range_mode)
    if scaling is None:
        return None
    with np.errstate(over="ignore"):
        return int(np.rint(_levels(np.array([value], np.float32), *scaling))[0])


def pixels_of(
    samples: np.ndarray,
    scale: float,
    shift: float,
    is_absolute: bool,
    alpha: np.ndarray | None = None,
    white: float = 255.0,
) -> NDArray[np.uint8]:
    """Return a rectangle of samples, H x W x C, as a whole picture is shown: H x W x 4."""
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
