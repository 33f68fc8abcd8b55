"""Mask files: JSON (everything), text (weights as typed), CSV, ImageJ and ImageMagick."""

import os
from pathlib import Path

from engine.errors import MaskError
from engine.files.atomic_write import atomic_write
from engine.files.reading import read_text
from engine.mask.mask import Mask
from engine.mask.text import STYLES, format_mask, parse_mask
from engine.mask.typed import WHAT

# A file of more bytes is not read at all; the largest mask takes 100 kB.
MAX_BYTES = 1_048_576


# That which keeps everything comes first.
FORMS = {
    style: form
    for style, form in sorted(STYLES.items(), key=lambda entry: not entry[1].keeps_offset)
    if form.suffix
}
SUFFIXES = tuple(dict.fromkeys(form.suffix for form in FORMS.values()))
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
    styles = [style for style, form in FORMS.items() if form.suffix == path.suffix.lower()]
    if not styles:
        endings = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise MaskError(what, f"masks are saved as {endings}", "Give the name one of these endings.")
    style = style if style in styles else styles[0]
    form = FORMS[style]
    has_anchor = mask.anchor != (mask.rows // 2, mask.columns // 2)
    if (has_anchor and not form.keeps_anchor) or (mask.offset != 0.0 and not form.keeps_offset):
        raise MaskError(
            what, f"a {path.suffix} file cannot hold its anchor and its offset", "Save it as .json instead."
        )
    if form.has_odd_sides and not (mask.rows % 2 and mask.columns % 2):
        why = f"ImageJ takes odd sides only, and this mask has {mask.rows} × {mask.columns} cells"
        raise MaskError(what, why, "Add a row or a column of zeros, or save it in another form.")
    atomic_write(path, (format_mask(mask, style).rstrip("\n") + "\n").encode())
