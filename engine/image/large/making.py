"""Making the file for a result: of the kind that its name says, stored as a source of the same kind."""

from dataclasses import replace

import numpy as np

from engine.image.formats.npy import NpyResult
from engine.image.formats.tiff import TIFF
from engine.image.large.result import LargeResult, PartFolder
from engine.image.large.source import LargePicture, Storage
from engine.image.large.tiff_writer import TiffResult
from engine.image.large.zarr_writer import ZarrResult
from engine.image.metadata import OME, metadata_to_save, sentence_on

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
    packed = "zstd" if kind == "zarr" else "none" if source.compression == "none" else "deflate"
    storage = Storage(
        kind,
        chunk,
        is_tiled=kind != "npy" and not is_in_strips,
        rows_at_once=rows,
        compression=source.compression if is_same else packed,
        smallest=None if kind == "npy" else source.smallest,
        is_ome=is_same and source.is_ome,
        details=source.details if is_same else {},
    )
    others = picture.metadata.left_out
    if source.is_ome and source.kind != kind and OME not in others:
        notes.append(
            "OME metadata (size of a pixel, names) is not saved: a result of the same kind keeps it."
        )
    if kind != "tiff" and picture.icc_profile:
        notes.append("The colour profile is not saved: only a TIFF has one.")
    if not metadata:
        storage = replace(storage, details=storage.details | {"tags": [], "ome": {}})
    else:
        size, title = (picture.width, picture.height), {"npy": "NumPy", "zarr": "Zarr"}.get(kind, "TIFF")
        most_exif = TIFF.most_exif_bytes if kind == "tiff" else 0
        kept, words = metadata_to_save(picture.metadata, *size, title, most_exif)
        if kind == "tiff":
            storage = replace(storage, details=storage.details | {"metadata": kept})
            others = source.details.get("left_out", others)
        notes += [*words, *sentence_on(others)]
    if kind == "zarr" and picture.has_alpha:
        notes.append("The alpha is saved as one more channel, which a Zarr does not tell from colours.")
    return storage, notes


def make_result(picture: LargePicture, storage: Storage, dtype: np.dtype, part: PartFolder) -> LargeResult:
    """Make the file of a result anew, or open what an earlier run has left, which is checked.

    Raises PartDamaged, and whatever a library raises of a damaged store.
    """
    shape = picture.height, picture.width, picture.channels
    if storage.kind == "zarr":
        return ZarrResult(part, storage, shape, dtype)
    file = part.file(part.result.name)
    if storage.kind == "npy":
        return NpyResult(file, storage, shape, dtype)
    return TiffResult(
        file,
        part.file("result-segments"),
        storage,
        shape,
        dtype,
        has_alpha=picture.has_alpha,
        icc_profile=picture.icc_profile,
    )
