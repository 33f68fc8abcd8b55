"""Saving a picture: encoded in memory, then written whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.errors import ImageWriteError
from engine.files.atomic_write import atomic_write, path_text
from engine.image.convert import change_alpha_depth, change_depth
from engine.image.encode import encode_jpeg, encode_png, encode_tiff, encode_webp
from engine.image.icc import profile_fits
from engine.image.picture import Picture

Depth = Literal["keep", "8", "16", "float32"]

# The sample type of each depth that can be asked for, but "keep".
DEPTH_DTYPES: dict[str, type[Any]] = {"8": np.uint8, "16": np.uint16, "float32": np.float32}

_FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".webp": "WebP",
}

DEFAULT_QUALITY = 95
_WITH_QUALITY = ("JPEG", "WebP")

SAVED_EXTENSIONS: tuple[str, ...] = tuple(_FORMATS)

_FORMAT_DTYPES: dict[str, tuple[type[Any], ...]] = {
    "PNG": (np.uint8, np.uint16),
    "JPEG": (np.uint8,),
    "TIFF": (np.uint8, np.uint16, np.float32),
    "WebP": (np.uint8,),
}

# The most pixels on a side that the format's header can hold; PNG and TIFF pass what memory can.
_MAX_SIDES = {"JPEG": 65_500, "WebP": 16_383}

_ENCODERS: dict[str, Callable[[Picture, int], bytes]] = {
    "PNG": encode_png,
    "JPEG": encode_jpeg,
    "TIFF": encode_tiff,
    "WebP": encode_webp,
}


def save_image(
    picture: Picture | NDArray[Any],
    path: str | os.PathLike[str],
    *,
    quality: int = DEFAULT_QUALITY,
    depth: Depth = "keep",
) -> tuple[str, ...]:
    """Save a picture as PNG, JPEG, TIFF or WebP; the extension of `path` chooses.

    PNG and TIFF are exact. JPEG is lossy. WebP is lossy below quality 100 and exact at 100. Nothing is
    scaled, rounded or clipped unless `depth` asks for it.

    Parameters
    ----------
    picture : Picture or ndarray
        An array is taken as `Picture.from_array` takes it.
    path : str or path-like
        Ends in .png, .jpg, .jpeg, .tif, .tiff or .webp. An existing file is replaced in one step.
    quality : int, default 95
        1 to 100, for JPEG and WebP.
    depth : {"keep", "8", "16", "float32"}, default "keep"
        Depth of the file. From float to "8" and "16" the values are taken in the scale of the target (255 or
        65535), rounded half to even and clipped; `engine.image.convert.to_depth` offers other ways. Between 8
        and 16 bit the full scales correspond.

    Returns
    -------
    tuple of str
        A sentence for each thing that the format cannot keep and that was left out: alpha in JPEG, grey in
        WebP (saved as RGB), a colour profile of another colour model, EXIF and resolution of the file that
        was opened. Empty where all is in the file.

    Raises
    ------
    ImageWriteError
        An unknown extension, a depth or size that the format has not, a quality or depth out of range.
    FileWriteError
        The folder does not exist or cannot be written, the disk is full, and the like.
    BadValue
        An array that is not a picture.
    """
    data, left_out = encoded_image(picture, path_text(path), quality=quality, depth=depth)
    atomic_write(path, data)
    return left_out


def encoded_image(
    picture: Picture | NDArray[Any], name: str, *, quality: int = DEFAULT_QUALITY, depth: Depth = "keep"
) -> tuple[bytes, tuple[str, ...]]:
    """Return the bytes of a file, as `save_image` would write it, and what it says is left out."""
    format_name = _format_of(name)
    if not 1 <= quality <= 100:
        raise ImageWriteError(f"{name} cannot be saved", f"quality {quality} is not between 1 and 100")
    if not isinstance(picture, Picture):
        picture = Picture.from_array(picture)
    picture = _with_depth(picture, depth, name)
    _check_format_holds(picture, format_name, name)
    picture, left_out = _without_what_is_lost(picture, format_name)
    try:
        data = _ENCODERS[format_name](picture, quality)
    except (OSError, ValueError, RuntimeError, TypeError, MemoryError) as error:
        raise ImageWriteError(
            f"{name} cannot be saved", f"the {format_name} encoder says: {error}"
        ) from error
    return data, left_out


def takes_quality(path: str) -> bool:
    """Return whether a quality changes anything in a file of that name."""
    return _FORMATS.get(Path(path).suffix.lower()) in _WITH_QUALITY


def _format_of(name: str) -> str:
    extension = Path(name).suffix.lower()
    if extension not in _FORMATS:
        why = (
            f"{extension!r} is no picture format that can be saved"
            if extension
            else "its name has no extension"
        )
        raise ImageWriteError(
            f"{name} cannot be saved", why, f"End the name in one of: {', '.join(_FORMATS)}."
        )
    return _FORMATS[extension]


def _with_depth(picture: Picture, depth: Depth, name: str) -> Picture:
    if depth == "keep":
        return picture
    if depth not in DEPTH_DTYPES:
        known = ", ".join(("keep", *DEPTH_DTYPES))
        raise ImageWriteError(
            f"{name} cannot be saved", f"there is no depth {depth!r}", f"Choose one of: {known}."
        )
    dtype = DEPTH_DTYPES[depth]
    alpha = None if picture.alpha is None else change_alpha_depth(picture.alpha, dtype)
    return Picture(change_depth(picture.pixels, dtype), alpha, picture.icc_profile, metadata=picture.metadata)


def _check_format_holds(picture: Picture, format_name: str, name: str) -> None:
    if picture.dtype not in _FORMAT_DTYPES[format_name]:
        others = [other for other, dtypes in _FORMAT_DTYPES.items() if picture.dtype in dtypes]
        raise ImageWriteError(
            f"{name} cannot be saved",
            f"{format_name} does not hold {picture.depth_text} values",
            f"Save it as {' or '.join(others)}, or ask for a depth of 8 bit.",
        )
    limit = _MAX_SIDES.get(format_name)
    if limit is not None and max(picture.height, picture.width) > limit:
        raise ImageWriteError(
            f"{name} cannot be saved",
            f"{format_name} holds {limit:,} pixels on a side, this picture has {picture.width:,} x {picture.height:,}",
            "Save it as PNG or TIFF.",
        )


def _without_what_is_lost(picture: Picture, format_name: str) -> tuple[Picture, tuple[str, ...]]:
    pixels, alpha, profile = picture.pixels, picture.alpha, picture.icc_profile
    left_out = []
    if format_name == "JPEG" and alpha is not None:
        alpha = None
        left_out.append("JPEG has no alpha: it was left out. PNG, TIFF and WebP keep it.")
    if format_name == "WebP" and pixels.ndim == 2:
        pixels = np.repeat(pixels[..., np.newaxis], 3, axis=2)
        left_out.append("WebP has no grey: the picture was saved as RGB with three equal channels.")
    if profile is not None and not profile_fits(profile, 1 if pixels.ndim == 2 else 3):
        profile = None
        left_out.append("The colour profile does not describe these channels and was left out.")
    if picture.metadata:
        verb = "are" if len(picture.metadata) > 1 or "data" in picture.metadata[0] else "is"
        words = " and ".join(picture.metadata)
        left_out.append(f"{words[0].upper()}{words[1:]} of the opened file {verb} not saved.")
    return Picture(pixels, alpha, profile), tuple(left_out)
