"""What a file can be read in parts as, and what a result is written in parts as: by name and first bytes."""

import os
from pathlib import Path

from engine.image.formats.npy import MAGIC
from engine.image.formats.tiff import TIFF
from engine.image.open import HEAD_BYTES

_METADATA = ("zarr.json", ".zarray", ".zgroup")
SUFFIXES = {".tif": "tiff", ".tiff": "tiff", ".zarr": "zarr", ".npy": "npy"}
"""What the names of results end in, and their kinds."""


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


def is_zarr(path: Path) -> bool:
    """Return whether a folder is a Zarr array or group."""
    return any((path / name).is_file() for name in _METADATA)


def kind_of_result(path: str) -> str:
    """Return the kind of a result that is written in parts, by the end of its name; "" for others."""
    return SUFFIXES.get(Path(path).suffix.lower(), "")
