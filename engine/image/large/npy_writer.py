"""Writing NumPy's .npy in parts: its header comes last, so what is unfinished is no array."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.image.large.result import LargeResult
from engine.image.large.storage import Storage


class NpyResult(LargeResult):
    """An array whose rows are written one after the other."""

    def __init__(
        self, path: Path, storage: Storage, shape: tuple[int, int, int], dtype: np.dtype[Any], *, is_new: bool
    ) -> None:
        height, width, self.channels = shape
        self.storage, self.dtype, self.levels, self.notes = storage, dtype, ((height, width),), []
        header = io.BytesIO()
        of_array = (height, width) if self.channels == 1 else shape
        fields = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": of_array}
        np.lib.format.write_array_header_1_0(header, fields)
        self._header = header.getvalue()
        self._row_bytes = width * self.channels * dtype.itemsize
        self._file = path.open("xb" if is_new else "r+b")

    def write(self, level: int, top: int, rows: NDArray[Any]) -> None:
        """Write rows."""
        self._file.seek(len(self._header) + top * self._row_bytes)
        self._file.write(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)

    def state(self) -> dict[str, Any]:
        """Bring to the disk what was written."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {}

    def finish(self) -> None:
        """Write the header."""
        self._file.seek(0)
        self._file.write(self._header)
        self.state()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
