"""Opening a picture file: cheap checks first."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from engine.errors import BadValue
from engine.files.atomic_write import path_text
from engine.files.reading import open_file, why_unreadable
from engine.image.budget import DEFAULT_MAX_BYTES, RAISE_LIMIT, Budget, bytes_text
from engine.image.canvas import Allocate, Decoded
from engine.image.colour import profile_fits
from engine.image.faults import Refused, errors_in_words
from engine.image.form import Form
from engine.image.format import Format
from engine.image.formats import opened_suffixes
from engine.image.picture import Picture
from engine.image.sniff import HEAD_BYTES, format_of


def open_image(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    work_bytes: Callable[[Form], int] | None = None,
    work: str = "working with",
    remedy: str = RAISE_LIMIT,
    allocate: Allocate | None = None,
) -> Picture:
    """Open a file of one of the formats in `engine.image.formats.FORMATS` as a picture.

    The depth of the file is kept (8 bit, 16 bit, 32-bit float; other depths become the next of these that
    holds them). Palettes, CMYK, Lab and YCbCr become RGB, premultiplied alpha becomes straight, and the EXIF
    orientation is applied. An animation or a file of several pages gives its first picture.
    `Picture.notes` has a sentence on each of these changes.

    Parameters
    ----------
    path : str or path-like
        The file. Its first bytes decide what it is, not its extension.
    max_bytes : int
        Limit on the bytes of the file and on the memory that decoding takes, checked before it is taken.
    work_bytes : callable of (Form) -> int, optional
        The most memory that what is to be done with the picture takes, bytes; held to the same limit at once.
    work : str
        What that is, in words before the picture's size ("filtering and saving").
    remedy : str
        What a person can do about a picture that passes the limit, for the error.
    allocate : callable of (Form), optional
        Returns the arrays that the picture is decoded into, pixels and alpha (None without), after all checks
        of its header; they become those of the picture. Called once, with the form of the upright picture.

    Returns
    -------
    Picture

    Raises
    ------
    ImageReadError
        There is no such file, it cannot be read, is not a picture of these formats, is damaged or cut
        short, or passes the limit.
    """
    name = path_text(path)
    limit: object = max_bytes
    if not isinstance(limit, int | float | np.number):
        raise BadValue(
            f"max_bytes {max_bytes!r}", "it is not a number of bytes", "Give one such as 8 * 2**30."
        )
    path = Path(name)
    with errors_in_words(name):
        file = open_regular_file(path, max_bytes, remedy)
    with file:
        with errors_in_words(name):
            known = format_of(file.read(HEAD_BYTES))
            file.seek(0)
        with errors_in_words(name, known.title, known.unsupported):
            decoded = known.decode(file, Budget(max_bytes, work_bytes, work, remedy), allocate)
            return _picture(decoded, path, known)


def open_regular_file(path: Path, max_bytes: int, remedy: str) -> BinaryIO:
    """Open a file for reading; Refused where it is none, may not be read, or is larger than the limit."""
    try:
        file = open_file(path)
    except (OSError, ValueError) as error:
        raise Refused(*why_unreadable(error)) from error
    size = os.fstat(file.fileno()).st_size
    if size > max_bytes:
        file.close()
        raise Refused(f"the file has {bytes_text(size)}, the limit is {bytes_text(max_bytes)}", remedy)
    return file


def _picture(decoded: Decoded, path: Path, known: Format) -> Picture:
    pixels, alpha = decoded.canvas.pixels, decoded.canvas.alpha
    suffix = path.suffix.lower()
    notes = [*decoded.notes, *value_notes(pixels)]
    if suffix in opened_suffixes() and suffix not in known.suffixes:
        notes.insert(0, f"It is named {suffix} but is a {known.title} file.")
    profile = decoded.icc_profile
    if profile and not profile_fits(profile, 1 if pixels.ndim == 2 else 3):
        profile = None
        channels = "a grey picture" if pixels.ndim == 2 else "RGB"
        notes.append(
            f"Its colour profile is not one for {channels}, as the picture is now, and was left out."
        )
    return Picture(pixels, alpha, profile or None, path, known.title, tuple(notes), decoded.metadata)


def value_notes(pixels: np.ndarray) -> Sequence[str]:
    """Sentences on values that are not numbers; a filter spreads each over a whole mask."""
    if pixels.dtype != np.float32:
        return []
    counts = {"NaN": np.count_nonzero(np.isnan(pixels)), "infinite": np.count_nonzero(np.isinf(pixels))}
    if counts["NaN"] == pixels.size:
        return ["All of its values are NaN: there is nothing to see."]
    return [
        f"{count:,} {'value is' if count == 1 else 'values are'} {kind}."
        for kind, count in counts.items()
        if count
    ]
