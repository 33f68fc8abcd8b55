"""Which pictures `filter` and `batch` take in bands."""

import os
from importlib import import_module

from engine.commands.picture_opening import work_bytes
from engine.commands.picture_settings import PictureSettings
from engine.errors import EngineError
from engine.image.form import Form
from engine.image.formats import FORMATS
from engine.image.formats.npy import is_by_columns
from engine.image.large.kinds import kind_of, kind_of_result

# How many bytes of work one byte of a TIFF may make: the tags of a smaller file are not read twice.
_MOST_COMPRESSED = 64
_TIFF = next(known for known in FORMATS if known.title == "TIFF")


def is_in_parts(source: str, target: str, asked: PictureSettings) -> bool:
    """Return whether a picture is filtered in bands: OME-Zarr is, and a TIFF too large for memory.

    So is a TIFF where `--memory` is given, or where its result is to be an OME-Zarr or .npy, and an .npy to
    a file of these kinds. Of a TIFF only the tags are read.
    """
    kind = kind_of(source)
    if kind == "npy" and (not kind_of_result(target) or is_by_columns(source)):
        return False  # as a whole: other formats are not written in bands, nor columns read
    if kind != "tiff":
        return bool(kind)
    if asked.memory is not None or kind_of_result(target) in ("zarr", "npy"):
        return True
    try:
        if os.path.getsize(source) * _MOST_COMPRESSED < asked.max_bytes:
            return False
        return work_bytes(asked, form_in_parts(source), _TIFF) > asked.max_bytes
    except (EngineError, OSError):
        return False  # opened as a whole, it is refused with the reason


def form_in_parts(source: str) -> Form:
    """Return the form of a picture that is filtered in bands; raises ImageReadError."""
    # With it come all readers.
    open_large = import_module("engine.image.large.opening").open_large
    with open_large(source, threads=1) as picture:
        colours = picture.channels - picture.has_alpha
        return Form(picture.height, picture.width, colours, picture.has_alpha, picture.dtype)
