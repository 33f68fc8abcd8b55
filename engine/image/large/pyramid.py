"""The smaller levels of a result: rows of half the size wait uncompressed until the full size is written.

A level is read from its rows, written as strips, tiles or chunks, and halved for the next one, so that no
more than a row of tiles is in memory.
"""

from pathlib import Path
from typing import Any

import numpy as np

from engine.image.halving import halved
from engine.image.large.checked_file import CheckedFile
from engine.image.large.result import LargeResult


class ScratchLevel:
    """The rows of a level in a file of their own: a new one, or what an earlier run has left, its `state`."""

    def __init__(
        self, folder: Path, level: int, result: LargeResult, state: dict[str, Any] | None = None
    ) -> None:
        self._folder, self._result, self._level = folder, result, level
        width = result.levels[level][1]
        self._row_shape = width, result.channels
        self._row_bytes = width * result.channels * result.dtype.itemsize
        self._file = CheckedFile(folder / f"level-{level}", state)
        self.state, self.close = self._file.state, self._file.close

    def add(self, rows: np.ndarray) -> None:
        """Add the half of the next rows of the level before, whose first is even."""
        self._file.append(np.ascontiguousarray(halved(rows)).reshape(-1).view(np.uint8))

    def write(self) -> "ScratchLevel | None":
        """Write the level; return the next one, if there is one."""
        result, following = self._result, None
        if self._level + 1 < len(result.levels):
            following = ScratchLevel(self._folder, self._level + 1, result)
        height = result.levels[self._level][0]
        for top in range(0, height, result.rows_at_once):
            count = min(result.rows_at_once, height - top)
            data = self._file.read(top * self._row_bytes, count * self._row_bytes)
            rows = np.frombuffer(data, result.dtype).reshape(count, *self._row_shape)
            result.write(self._level, top, rows)
            if following is not None:
                following.add(rows)
        self.close()
        return following
