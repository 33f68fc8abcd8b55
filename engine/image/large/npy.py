"""NumPy's .npy in parts: rows are read as they are asked for, and written with the header last.

So what is unfinished is no array.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np

from engine.image.array_input import shape_refusal
from engine.image.array_types import sample_type
from engine.image.faults import Refused
from engine.image.formats.npy import read_array_header
from engine.image.large.checked_file import CheckedFile
from engine.image.large.plain_rows import PlainRows
from engine.image.large.result import LargeResult
from engine.image.large.source import MOST_CHANNELS
from engine.image.large.storage import Storage


def open_npy(path: Path) -> PlainRows:
    """Open an array for reading in parts; raises Refused."""
    with path.open("rb") as file:
        shape, is_by_columns, stored = read_array_header(file)
        begin = file.tell()
    if is_by_columns:
        raise Refused(
            "its values are stored column by column (Fortran order), so no rows can be read",
            "Open it as a whole, or save numpy.ascontiguousarray of it.",
        )
    height, width, channels = _picture_shape(shape)
    dtype, notes = sample_type(stored)
    end = begin + height * width * channels * stored.itemsize
    size = path.stat().st_size
    if end > size:
        raise Refused(f"its data reaches to byte {end:,}, the file ends after {size:,}: it was cut short")
    storage = Storage("npy", (1, width), is_tiled=False)
    return PlainRows(path, "NumPy array", (height, width, channels), dtype, stored, (begin,), storage, notes)


def _picture_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the shape of an array as rows, columns and channels; refuse what is no picture."""
    rows_columns_channels = (*shape, 1) if len(shape) == 2 else shape
    if len(rows_columns_channels) != 3 or not 1 <= rows_columns_channels[2] <= MOST_CHANNELS:
        raise Refused(*shape_refusal(shape))
    if 0 in shape:
        raise Refused(f"an array of shape {shape} has no pixel", "Save one that has.")
    height, width, channels = rows_columns_channels
    return height, width, channels


class NpyResult(LargeResult):
    """An array whose rows are written one after the other."""

    def __init__(
        self,
        path: Path,
        storage: Storage,
        shape: tuple[int, int, int],
        dtype: np.dtype,
        state: dict[str, Any] | None,
    ) -> None:
        height, width, self.channels = shape
        self.storage, self.dtype, self.levels, self.notes = storage, dtype, ((height, width),), []
        header = io.BytesIO()
        of_array = (height, width) if self.channels == 1 else shape
        fields = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": of_array}
        np.lib.format.write_array_header_1_0(header, fields)
        self._header = header.getvalue()
        self._file = CheckedFile(path, None if state is None else state["file"])
        if state is None:
            self._file.append(b"\0" * len(self._header))

    def write(self, level: int, top: int, rows: np.ndarray) -> None:
        """Write rows."""
        self._file.append(np.ascontiguousarray(rows).reshape(-1).view(np.uint8))

    def state(self) -> dict[str, Any]:
        """Bring to the disk what was written."""
        return {"file": self._file.state()}

    def finish(self) -> None:
        """Write the header."""
        self._file.finish(self._header)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
