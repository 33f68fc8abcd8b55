"""Files that are read in parts, results that are written so, and pictures in memory read as these are."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

from engine.files.atomic_write import path_text
from engine.image.convert import halved
from engine.image.faults import Refused, errors_in_words
from engine.image.format import Form
from engine.image.formats.npy import MAGIC, NpyResult, open_npy
from engine.image.formats.tiff import TIFF, TiffResult, open_tiff
from engine.image.large.result import LargeResult, PartFolder
from engine.image.large.source import LargePicture, Storage
from engine.image.large.zarr import ZarrResult, open_zarr
from engine.image.metadata import OME, metadata_to_save, sentence_on
from engine.image.open import HEAD_BYTES, open_image, open_regular_file
from engine.process import cores

_METADATA = ("zarr.json", ".zarray", ".zgroup")
SUFFIXES = {".tif": "tiff", ".tiff": "tiff", ".zarr": "zarr", ".npy": "npy"}
"""What the names of results end in, and their kinds."""


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return what a file or folder can be read in parts as: "zarr", "npy", "tiff", or "" where it cannot."""
    head, place = b"", Path(path)
    # Where it cannot be read, opening it will say why.
    with suppress(OSError, ValueError):
        if place.is_dir():
            return "zarr" if any((place / name).is_file() for name in _METADATA) else ""
        if place.is_file():
            with place.open("rb") as file:
                head = file.read(HEAD_BYTES)
    return "npy" if head.startswith(MAGIC) else "tiff" if head.startswith(TIFF.signatures) else ""


def kind_of_result(path: str) -> str:
    """Return the kind of a result that is written in parts, by the end of its name; "" for others."""
    return SUFFIXES.get(Path(path).suffix.lower(), "")


def open_large(path: str | os.PathLike[str]) -> LargePicture:
    """Open a TIFF, an OME-Zarr (its folder), a Zarr array or an .npy so that rectangles of it can be read.

    Raises ImageReadError: there is no such file, it cannot be read in parts, is damaged or cut short, or a
    package or a codec is not there.
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
            remedy = "Save it as a tiled TIFF, or raise the limit (--max-bytes) and open it as a whole."
            raise Refused("only TIFF, OME-Zarr and .npy are read in parts", remedy)
    except BaseException:
        file.close()
        raise


# Strips and rows that are written together, bytes.
_UNIT_BYTES = 8 << 20
# Sides of tiles and chunks where the source has none, or strange ones.
_SIDE, _MOST_SIDE = 512, 4096


def result_storage(picture: LargePicture, kind: str, *, metadata: bool = True) -> tuple[Storage, list[str]]:
    """Return how the result of a picture is stored, and a sentence for each thing that it does not keep.

    Without `metadata` it gets neither EXIF data nor resolution nor OME metadata.
    """
    source, notes = picture.storage, []
    is_same, row_bytes = source.kind == kind, picture.width * picture.channels * picture.dtype.itemsize
    is_in_strips = is_same and kind == "tiff" and not source.is_tiled and source.chunk[0] <= picture.height
    # A TIFF has tiles of multiples of 16.
    is_fit = source.is_tiled and not any(side % 16 or side > _MOST_SIDE for side in source.chunk)
    chunk = source.chunk if is_in_strips or is_fit or (is_same and kind == "zarr") else (_SIDE, _SIDE)
    rows = chunk[0]
    if kind == "npy":
        rows = max(1, _UNIT_BYTES // row_bytes)
        chunk = rows, picture.width
        if source.smallest is not None:
            notes.append("An .npy has no smaller levels: only the full size is saved.")
    elif is_in_strips:
        rows *= max(1, _UNIT_BYTES // (rows * row_bytes))
    if source.smallest is not None and rows % 2:
        rows *= 2  # which are halved in pairs
    details, others = source.details if is_same else {}, picture.metadata.left_out
    if source.is_ome and source.kind != kind and OME not in others:
        what = "OME metadata (size of a pixel, names)"
        notes.append(f"{what} is not saved: a result of the same kind keeps it.")
    if kind != "tiff" and picture.icc_profile:
        notes.append("The colour profile is not saved: only a TIFF has one.")
    if not metadata:
        details = details | {"tags": {}, "ome": {}}
    else:
        title, size = {"npy": "NumPy", "zarr": "Zarr"}.get(kind, "TIFF"), (picture.width, picture.height)
        most_exif = TIFF.most_exif_bytes if kind == "tiff" else 0
        kept, words = metadata_to_save(picture.metadata, *size, title, most_exif)
        if kind == "tiff":
            details, others = details | {"metadata": kept}, source.details.get("left_out", others)
        notes += [*words, *sentence_on(others)]
    details = details | {"has_alpha": picture.has_alpha, "icc_profile": picture.icc_profile}
    if kind == "zarr" and picture.has_alpha:
        notes.append("The alpha is saved as one more channel, which a Zarr does not tell from colours.")
    packed = "zstd" if kind == "zarr" else "none" if source.compression == "none" else "deflate"
    storage = Storage(
        kind,
        chunk,
        is_tiled=kind != "npy" and not is_in_strips,
        rows_at_once=rows,
        compression=source.compression if is_same else packed,
        smallest=None if kind == "npy" else source.smallest,
        is_ome=is_same and source.is_ome,
        details=details,
    )
    return storage, notes


def make_result(picture: LargePicture, storage: Storage, dtype: np.dtype, part: PartFolder) -> LargeResult:
    """Make the file of a result anew, or open what an earlier run has left; errors as of `LargeResult`."""
    kinds: dict[str, type[LargeResult]] = {"npy": NpyResult, "tiff": TiffResult, "zarr": ZarrResult}
    return kinds[storage.kind](part, storage, (picture.height, picture.width, picture.channels), dtype)


# The second level has a quarter of the columns: what a tile between the two is made of is read at once.
_HALVINGS = 2
_LEAST_SIDE = 256


class DecodedPicture(LargePicture):
    """A picture in memory, with levels from a quarter of its size on.

    `remedy` is what a person can do about one that passes the limit, for the error.
    """

    def __init__(self, path: str | os.PathLike[str], remedy: str) -> None:
        picture = open_image(path, work_bytes=decoded_bytes, work="showing", remedy=remedy)
        samples = picture.pixels if picture.pixels.ndim == 3 else picture.pixels[..., np.newaxis]
        self.path, self.format = Path(path), picture.format or ""
        self.dtype, self.has_alpha = samples.dtype, picture.alpha is not None
        self.channels = samples.shape[2] + self.has_alpha
        self.icc_profile, self.notes, self.metadata = picture.icc_profile, picture.notes, picture.metadata
        self.chunk = _SIDE, _SIDE
        self.storage = Storage("decoded", self.chunk)
        planes = (samples,) if picture.alpha is None else (samples, picture.alpha[..., np.newaxis])
        self._levels: list[tuple[np.ndarray, ...]] = [planes]
        while max(self._levels[-1][0].shape[:2]) > _LEAST_SIDE:
            halvings = _HALVINGS if len(self._levels) == 1 else 1
            self._levels.append(tuple(_reduced(plane, halvings) for plane in self._levels[-1]))
        self.levels = tuple(planes[0].shape[:2] for planes in self._levels)

    def fill(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle into an array."""
        np.concatenate([plane[rows, columns] for plane in self._levels[level]], axis=2, out=out)


def decoded_bytes(form: Form) -> int:
    """Return the memory of such a picture, bytes: a sixteenth, and a third of that, is in the levels."""
    return form.decoded_bytes + form.decoded_bytes // 12


def _reduced(plane: np.ndarray, halvings: int) -> np.ndarray:
    """Return a picture halved so many times, band by band: halves of a whole one take twice its memory."""
    step = 1 << halvings
    height, width = (-(-side // step) for side in plane.shape[:2])
    out = np.empty((height, width, plane.shape[2]), plane.dtype)
    band = max(1, (1 << 20) // max(1, plane[0].nbytes * step))

    def reduce(top: int) -> None:
        out[top : top + band] = halved(plane[top * step : (top + band) * step], halvings)

    with ThreadPoolExecutor(cores()) as threads:
        list(threads.map(reduce, range(0, height, band)))
    return out
