"""Mask files: JSON (everything), text (weights as typed), CSV, ImageJ and ImageMagick."""

import os
from pathlib import Path
from typing import NamedTuple

from engine.errors import MaskError
from engine.files.atomic_write import atomic_write
from engine.files.reading import read_text
from engine.mask.mask import Mask
from engine.mask.text import format_mask, parse_mask
from engine.mask.typed import WHAT

# A file of more bytes is not read at all; the largest mask takes 100 kB.
MAX_BYTES = 1_048_576


class MaskFormat(NamedTuple):
    """A form in which masks are saved; all are read, whatever the suffix. `style` is one of text."""

    title: str
    suffix: str
    style: str
    keeps_anchor: bool = False
    keeps_offset: bool = False
    has_odd_sides: bool = False


FORMATS: tuple[MaskFormat, ...] = (
    MaskFormat("JSON, with anchor and offset", ".json", "json", keeps_anchor=True, keeps_offset=True),
    MaskFormat("CSV, for spreadsheets", ".csv", "csv"),
    MaskFormat("Text, as typed", ".txt", "rows"),
    MaskFormat("ImageJ, for Process > Filters > Convolve", ".txt", "imagej", has_odd_sides=True),
    MaskFormat("ImageMagick, for -morphology Correlate", ".kernel", "imagemagick", keeps_anchor=True),
)
SUFFIXES = tuple(dict.fromkeys(form.suffix for form in FORMATS))
"""The endings of mask files."""


def load_mask(path: str | os.PathLike[str]) -> Mask:
    """Return the mask in a text file (UTF-8), in any form that `parse_mask` reads, whatever the suffix.

    It is named after the file unless it has a name. Raises MaskError where the file is missing, no file,
    unreadable, empty, too large or no text, or its text is not a mask.
    """
    path = Path(path)
    what = f"The mask file {str(path)!r} cannot be opened"
    text = read_text(path, MAX_BYTES, what, MaskError)
    try:
        mask = parse_mask(text)
    except MaskError as error:
        why = error.why if error.what == WHAT else f"{error.what}: {error.why}"
        raise MaskError(what, why, error.remedy) from error
    return mask if mask.name else mask.with_name(path.stem)


def save_mask(mask: Mask, path: str | os.PathLike[str], style: str = "") -> None:
    """Write a mask to a file, whole or not at all.

    The suffix (.json, .csv, .txt or .kernel) chooses the form, and `style` among several of one suffix, such
    as "imagej". Raises MaskError for another suffix or a form that cannot hold the mask's anchor or offset,
    and FileWriteError.
    """
    path = Path(path)
    what = f"The mask cannot be saved as {path.name!r}"
    forms = [form for form in FORMATS if form.suffix == path.suffix.lower()]
    if not forms:
        endings = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise MaskError(what, f"masks are saved as {endings}", "Give the name one of these endings.")
    form = next((form for form in forms if form.style == style), forms[0])
    has_anchor = mask.anchor != (mask.rows // 2, mask.columns // 2)
    if (has_anchor and not form.keeps_anchor) or (mask.offset != 0.0 and not form.keeps_offset):
        raise MaskError(
            what, f"a {path.suffix} file cannot hold its anchor and its offset", "Save it as .json instead."
        )
    if form.has_odd_sides and not (mask.rows % 2 and mask.columns % 2):
        why = f"ImageJ takes odd sides only, and this mask has {mask.rows} × {mask.columns} cells"
        raise MaskError(what, why, "Add a row or a column of zeros, or save it in another form.")
    atomic_write(path, (format_mask(mask, form.style).rstrip("\n") + "\n").encode())
