"""The picture formats, one file each, for opening, saving, `batch`, file dialogs, help texts and refusals.

What only looks like a picture is in `engine.image.open`.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from engine.image.format import Format
from engine.image.formats.avif import AVIF
from engine.image.formats.gif import GIF
from engine.image.formats.jpeg import JPEG
from engine.image.formats.jpegxl import JPEG_XL
from engine.image.formats.npy import NUMPY
from engine.image.formats.pillow import BMP
from engine.image.formats.png import PNG
from engine.image.formats.pnm import PNM
from engine.image.formats.tiff import TIFF
from engine.image.formats.webp import WEBP

FORMATS: tuple[Format, ...] = (PNG, JPEG, TIFF, BMP, WEBP, GIF, JPEG_XL, AVIF, PNM, NUMPY)


def saved_formats() -> tuple[Format, ...]:
    """Return the formats that can be written."""
    return tuple(known for known in FORMATS if known.encode is not None)


def offered_suffixes() -> tuple[str, ...]:
    """Return the suffix of each format that can be written."""
    return tuple(known.saved_suffixes[0] for known in saved_formats())


def format_to_save(path: str | os.PathLike[str]) -> Format | None:
    """Return the format that the suffix of a path chooses for saving; None where there is none."""
    suffix = Path(path).suffix.lower()
    return next((known for known in saved_formats() if suffix in known.saved_suffixes), None)


def formats_for(dtype: object, side: int = 1) -> tuple[Format, ...]:
    """Return the formats that can save a picture of this sample type and longer side."""
    return tuple(known for known in saved_formats() if known.holds(dtype, side))


def opened_suffixes() -> tuple[str, ...]:
    """Return the suffixes of all formats."""
    return tuple(suffix for known in FORMATS for suffix in known.suffixes)


def titles(formats: Iterable[Format] | None = None, word: str = "or") -> str:
    """Return the titles of formats, by default of all, as in a sentence: "PNG, JPEG or TIFF"."""
    return in_words((known.title for known in (FORMATS if formats is None else formats)), word)


def in_words(names: Iterable[str], word: str = "or") -> str:
    """Join names as in a sentence: "a, b or c"."""
    *first, last = tuple(names) or ("",)
    return f"{', '.join(first)} {word} {last}" if first else last


def quality_words() -> str:
    """Say which formats a quality is for."""
    lossy = [known for known in saved_formats() if known.has_quality]
    exact = [known for known in saved_formats() if not known.has_quality]
    return f"{titles(lossy, 'and')}; {titles(exact, 'and')} are exact"
