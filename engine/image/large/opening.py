"""Opening a file that is read in parts."""

import os
from pathlib import Path

from engine.files.atomic_write import path_text
from engine.image.faults import Refused, errors_in_words
from engine.image.formats.npy import open_npy
from engine.image.formats.tiff import TIFF
from engine.image.large.kinds import kind_of
from engine.image.large.source import LargePicture
from engine.image.large.tiff_reader import open_tiff
from engine.image.large.zarr_reader import open_zarr
from engine.image.open import open_regular_file


def open_large(path: str | os.PathLike[str]) -> LargePicture:
    """Open a TIFF, an OME-Zarr (its folder), a Zarr array or an .npy so that rectangles of it can be read.

    Raises
    ------
    ImageReadError
        There is no such file, it cannot be read in parts, is damaged or cut short, or a package or a codec is
        not there.
    """
    name = path_text(path)
    kind, place = kind_of(path), Path(path)
    with errors_in_words(name):
        if kind == "zarr":
            return open_zarr(place)
        if place.is_dir():
            raise Refused("it is a folder, and no Zarr store", "Choose a picture file in it.")
        file = open_regular_file(place, 1 << 62, "")
    try:
        with errors_in_words(name, *((TIFF.title, TIFF.unsupported) if kind == "tiff" else ())):
            if kind == "npy":
                return open_npy(file)
            if kind == "tiff":
                return open_tiff(file)
            raise Refused(
                "only TIFF, OME-Zarr and .npy are read in parts",
                "Save it as a tiled TIFF, or raise the limit (--max-bytes) and open it as a whole.",
            )
    except BaseException:
        file.close()
        raise
