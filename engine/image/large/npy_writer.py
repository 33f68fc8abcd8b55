"""Writing NumPy's .npy in parts: its header comes last, so what is unfinished is no array."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.image.large.checked_file import CheckedFile
from engine.image.large.result import LargeResult
from engine.image.large.storage import Storage


class NpyResult(LargeResult):
    """An array whose rows are written one after the other."""

    def __init__(
        self,
        path: Path,
        storage: Storage,
        shape: tuple[int, int, int],
        dtype: np.dtype[Any],
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

    def write(self, level: int, top: int, rows: NDArray[Any]) -> None:
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
