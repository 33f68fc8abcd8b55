"""Mask files: JSON (everything), CSV and plain text (weights alone)."""

import os
import stat
from pathlib import Path

from engine.errors import MaskError
from engine.files.atomic_write import atomic_write
from engine.mask.mask import Mask
from engine.mask.text import format_mask, parse_mask
from engine.mask.text_cells import WHAT

# A file of more bytes is not read at all; the largest mask takes 100 kB.
MAX_BYTES = 1_048_576

_STYLE_OF_SUFFIX = {".json": "json", ".csv": "csv", ".txt": "rows"}


def load_mask(path: str | os.PathLike[str]) -> Mask:
    """Return the mask in a text file (UTF-8), in any form that `parse_mask` reads, whatever the suffix.

    It is named after the file unless it has a name. Raises MaskError where the file is missing, no file,
    unreadable, empty, too large or no text, or its text is not a mask.
    """
    path = Path(path)
    what = f"The mask file {str(path)!r} cannot be opened"
    try:
        text = _read(path, what).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MaskError(what, "it is not text in UTF-8", "Save the mask as text or as JSON.") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise MaskError(what, reason.lower(), "Check the name and that you may read it.") from error
    try:
        mask = parse_mask(text)
    except MaskError as error:
        why = error.why if error.what == WHAT else f"{error.what}: {error.why}"
        raise MaskError(what, why, error.remedy) from error
    return mask if mask.name else mask.with_name(path.stem)


def save_mask(mask: Mask, path: str | os.PathLike[str]) -> None:
    """Write a mask to a file, whole or not at all; the suffix (.json, .csv or .txt) chooses the form.

    Raises MaskError for another suffix or a form that cannot hold the mask's anchor or offset, and
    FileWriteError.
    """
    path = Path(path)
    what = f"The mask cannot be saved as {path.name!r}"
    style = _STYLE_OF_SUFFIX.get(path.suffix.lower())
    if style is None:
        raise MaskError(what, "masks are saved as .json, .csv or .txt", "Give the name one of these endings.")
    has_more_than_weights = mask.anchor != (mask.rows // 2, mask.columns // 2) or mask.offset != 0.0
    if style != "json" and has_more_than_weights:
        raise MaskError(
            what, f"a {path.suffix} file cannot hold its anchor and its offset", "Save it as .json instead."
        )
    atomic_write(path, (format_mask(mask, style).rstrip("\n") + "\n").encode())


def _read(path: Path, what: str) -> bytes:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise MaskError(what, "it is a folder", "Choose a file.")
    # Reading a pipe or a device could take for ever.
    if not stat.S_ISREG(status.st_mode):
        raise MaskError(what, "it is not a regular file", "Copy the mask to a file.")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if not data:
        raise MaskError(what, "it is empty (0 bytes)", "Choose another file.")
    if len(data) > MAX_BYTES:
        raise MaskError(
            what,
            f"it has {status.st_size:,} bytes, and a mask has at most {MAX_BYTES:,}",
            "Check that this is a mask.",
        )
    return data
