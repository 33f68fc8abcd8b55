"""Which files are read in parts, and opening them."""

import os
from pathlib import Path

from engine.errors import EngineError
from engine.files.atomic_write import path_text
from engine.image.faults import Refused
from engine.image.large.npy_reader import MAGIC, open_npy
from engine.image.large.segments import DEFAULT_CACHE_BYTES
from engine.image.large.source import LargePicture
from engine.image.large.tiff_reader import TIFF, open_tiff
from engine.image.large.zarr_reader import is_zarr, open_zarr
from engine.image.open import errors_in_words, open_regular_file
from engine.image.sniff import HEAD_BYTES


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return what a file can be read in parts as: "zarr", "npy", "tiff", or "" where it cannot."""
    try:
        place = Path(path)
        if place.is_dir():
            return "zarr" if is_zarr(place) else ""
        if not place.is_file():
            return ""
        with place.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return ""  # opening it will say why
    if head.startswith(MAGIC):
        return "npy"
    return "tiff" if head.startswith(TIFF.signatures) else ""


def is_large(path: str | os.PathLike[str], max_bytes: int) -> bool:
    """Return whether a file is read in parts: OME-Zarr, .npy, or a TIFF that is not to be decoded as a whole.

    Of a TIFF only the tags are read; it counts as large where its pixels take more than `max_bytes`.
    """
    kind = kind_of(path)
    if kind != "tiff":
        return bool(kind)
    try:
        # Compressed pixels are hardly ever a thousandth of what they decode to.
        if os.stat(path).st_size < max_bytes // 1000:
            return False
        with open_large(path, threads=1) as picture:
            height, width = picture.levels[0]
            return height * width * picture.channels * picture.dtype.itemsize > max_bytes
    except EngineError:
        return False  # opened as a whole it is refused with the same reason


def open_large(
    path: str | os.PathLike[str], *, threads: int | None = None, cache_bytes: int = DEFAULT_CACHE_BYTES
) -> LargePicture:
    """Open a TIFF, an OME-Zarr, a Zarr array or an .npy so that rectangles of it can be read.

    Parameters
    ----------
    path : str or path-like
        A file, or the folder of a Zarr store.
    threads : int, optional
        Threads that decode; by default one for each core.
    cache_bytes : int
        Decoded strips, tiles or chunks that are kept.

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
            return open_zarr(place, threads=threads, cache_bytes=cache_bytes)
        if place.is_dir():
            raise Refused("it is a folder, and no Zarr store", "Choose a picture file in it.")
        open_regular_file(place, 1 << 62, "").close()
        if kind == "npy":
            return open_npy(place)
        if kind != "tiff":
            raise Refused(
                "only TIFF, OME-Zarr and .npy are read in parts",
                "Save it as a tiled TIFF, or raise the limit (--max-bytes) and open it as a whole.",
            )
    with errors_in_words(name, TIFF):
        return open_tiff(place, threads=threads, cache_bytes=cache_bytes)
