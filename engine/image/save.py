"""Saving a picture: encoded in memory, then written whole or not at all."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from engine.errors import ImageWriteError
from engine.files.atomic_write import atomic_write, path_text
from engine.image.colour import profile_fits
from engine.image.format import DEFAULT_QUALITY, Format
from engine.image.formats import format_to_save, formats_for, in_words, saved_formats, titles
from engine.image.metadata import NO_METADATA, metadata_to_save, sentence_on
from engine.image.picture import DEPTH_TEXTS, Picture
from engine.image.result_picture import Conversion

Depth = Literal["keep", "8", "16", "float32"]

# The sample type of each depth but "keep".
DEPTH_DTYPES: dict[str, type] = {"8": np.uint8, "16": np.uint16, "float32": np.float32}


def save_image(
    picture: Picture | np.ndarray,
    path: str | os.PathLike[str],
    *,
    quality: int = DEFAULT_QUALITY,
    depth: Depth = "keep",
    metadata: bool = True,
    done: Callable[[np.ndarray], None] | None = None,
) -> tuple[str, ...]:
    """Save a picture; the suffix of `path` chooses the format (`engine.image.formats.FORMATS`).

    Nothing is scaled, rounded or clipped unless `depth` asks for it.

    Parameters
    ----------
    picture : Picture or ndarray
        An array is taken as `Picture.from_array` takes it.
    path : str or path-like
        Ends in a suffix such as .png or .tif. An existing file is replaced in one step.
    quality : int, default 95
        1 to 100, for lossy formats. WebP is exact at 100, others always.
    depth : {"keep", "8", "16", "float32"}, default "keep"
        Depth of the file. From float to "8" and "16" 1 is white, as pictures are shown; values are rounded
        half to even and clipped to 0 to 1; `engine.image.convert.to_depth` offers other ways. Between 8 and
        16 bit the full scales correspond.
    metadata : bool, default True
        Whether EXIF data (camera, place, time) and resolution of the file that was opened are saved too, with
        the orientation and the size that the picture has now, and without a thumbnail of the old one.
    done : callable of ndarray, optional
        Called with rows of the pixels that are not read again, where the format reads each once; their memory
        may be given back.

    Returns
    -------
    tuple of str
        A sentence for each thing that the format or the depth cannot keep: alpha, grey (saved as RGB),
        values outside the range, a colour profile of another colour model, EXIF and resolution;
        what is damaged of these; and what else the opened file says, such as XMP. Empty where all is kept.

    Raises
    ------
    ImageWriteError
        An unknown suffix, a depth or size that the format has not, a quality or depth out of range.
    FileWriteError
        The folder does not exist or cannot be written, the disk is full, and the like.
    BadValue
        An array that is not a picture.
    """
    how = {"quality": quality, "depth": depth, "metadata": metadata, "done": done}
    data, left_out = encoded_image(picture, path_text(path), **how)  # type: ignore[arg-type]
    atomic_write(path, data)
    return left_out


def encoded_image(
    picture: Picture | np.ndarray,
    name: str,
    *,
    quality: int = DEFAULT_QUALITY,
    depth: Depth = "keep",
    metadata: bool = True,
    saved_as: Format | None = None,
    done: Callable[[np.ndarray], None] | None = None,
) -> tuple[bytes | memoryview, tuple[str, ...]]:
    """Return the bytes of a file, as `save_image` would write it, and its sentences on what is left out.

    `saved_as` is the format of the file where it is known already.
    """
    known = saved_as or saved_format(name)
    what = f"{name} cannot be saved"
    given: object = quality
    if not (isinstance(given, int | np.integer) and 1 <= given <= 100):
        raise ImageWriteError(what, f"quality {quality!r} is not a whole number from 1 to 100")
    if not isinstance(picture, Picture):
        picture = Picture.from_array(picture)
    picture, lost = _with_depth(picture, depth, what)
    check_holds(known, picture.dtype, picture.height, picture.width, name)
    if not metadata:
        picture = replace(picture, metadata=NO_METADATA)
    picture, left_out = _without_what_is_lost(picture, known)
    assert known.encode is not None
    try:
        data = known.encode(picture, quality, **({"done": done} if done and known.reads_once else {}))
    except (OSError, ValueError, RuntimeError, TypeError, MemoryError) as error:
        raise ImageWriteError(what, f"the {known.title} encoder says: {error}") from error
    return data, (*lost, *left_out)


def _with_depth(picture: Picture, depth: Depth, what: str) -> tuple[Picture, tuple[str, ...]]:
    """Return a picture in the depth that is asked for, and what it loses."""
    if depth == "keep":
        return picture, ()
    if depth not in DEPTH_DTYPES:
        known = ", ".join(("keep", *DEPTH_DTYPES))
        raise ImageWriteError(what, f"there is no depth {depth!r}", f"Choose one of: {known}.")
    conversion = Conversion(picture.dtype, np.dtype(DEPTH_DTYPES[depth]))
    return conversion.picture(picture, picture.pixels), conversion.sentences(picture.pixels.size)


def saved_format(name: str) -> Format:
    """Return the format that a file is saved in; an ImageWriteError says which suffixes there are."""
    known = format_to_save(name)
    if known is None:
        suffix = Path(name).suffix.lower()
        why = (
            f"{suffix!r} is not a picture format that can be saved" if suffix else "its name has no extension"
        )
        suffixes = ", ".join(suffix for known in saved_formats() for suffix in known.saved_suffixes)
        raise ImageWriteError(f"{name} cannot be saved", why, f"End the name in one of: {suffixes}.")
    return known


def check_holds(known: Format, dtype: np.dtype, height: int, width: int, name: str) -> None:
    """Refuse, with an ImageWriteError, a sample type or a size that a format cannot hold."""
    what, side = f"{name} cannot be saved", max(height, width)
    others = titles(formats_for(dtype, side))
    if not known.holds(dtype):
        held = in_words(depth for depth, dtype in DEPTH_DTYPES.items() if dtype in known.dtypes)
        raise ImageWriteError(
            what,
            f"{known.title} does not hold {DEPTH_TEXTS[dtype]} values",
            f"Save it as {others}, or ask for depth {held}.",
        )
    if not known.holds(dtype, side):
        raise ImageWriteError(
            what,
            f"{known.title} holds {known.max_side:,} pixels on a side, "
            f"this picture has {width:,} × {height:,}",
            f"Save it as {others}.",
        )


def _without_what_is_lost(picture: Picture, known: Format) -> tuple[Picture, tuple[str, ...]]:
    """Return what the format keeps of a picture, and a sentence for each thing that it does not."""
    pixels, alpha, profile = picture.pixels, picture.alpha, picture.icc_profile
    left_out = []
    if alpha is not None and not known.keeps_alpha:
        alpha = None
        others = titles((other for other in saved_formats() if other.keeps_alpha), "and")
        left_out.append(f"{known.title} has no alpha: it was left out. {others} keep it.")
    if pixels.ndim == 2 and not known.keeps_grey:
        pixels = np.repeat(pixels[..., np.newaxis], 3, axis=2)
        left_out.append(f"{known.title} has no grey: the picture was saved as RGB with three equal channels.")
    if profile is not None and not profile_fits(profile, 1 if pixels.ndim == 2 else 3):
        profile = None
        left_out.append("The colour profile does not describe these channels and was left out.")
    if profile is not None and not known.keeps_profile:
        profile = None
        left_out.append(f"The colour profile is not saved: a {known.title} file holds none here.")
    size = picture.width, picture.height
    metadata, words = metadata_to_save(picture.metadata, *size, known.title, known.most_exif_bytes)
    words = (*words, *sentence_on(metadata.left_out))
    return Picture(pixels, alpha, profile, metadata=metadata), (*left_out, *words)
