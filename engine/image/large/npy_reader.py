"""NumPy's .npy: an array in a file, whose rows are read as they are asked for."""

from pathlib import Path
from typing import Any

import numpy as np

from engine.image.faults import Refused
from engine.image.large.plain_rows import PlainRows
from engine.image.large.sample_types import picture_shape, sample_type
from engine.image.large.storage import Storage


def open_npy(path: Path) -> PlainRows:
    """Open an array for reading in parts; raises Refused."""
    shape, stored, begin = _header(path)
    height, width, channels = picture_shape(shape)
    dtype, notes = sample_type(stored)
    end = begin + height * width * channels * stored.itemsize
    size = path.stat().st_size
    if end > size:
        raise Refused(f"its data reaches to byte {end:,}, the file ends after {size:,}: it was cut short")
    storage = Storage("npy", (1, width), is_tiled=False)
    return PlainRows(path, "NumPy array", (height, width, channels), dtype, stored, (begin,), storage, notes)


def _header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape, type and offset of the values."""
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, is_by_columns, dtype = read.get(version, np.lib.format.read_array_header_2_0)(file)
        except (ValueError, EOFError, OverflowError) as error:
            raise Refused("its header is damaged or cut short") from error
        if dtype.hasobject:
            raise Refused(
                "it holds Python objects, which are never loaded from a file", "Save its numbers alone."
            )
        if is_by_columns and len(shape) > 1:
            raise Refused(
                "its values are stored column by column (Fortran order), so no rows can be read",
                "Save numpy.ascontiguousarray of it.",
            )
        return shape, dtype, file.tell()
