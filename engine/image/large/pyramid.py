"""The smaller levels of a result: rows of half the size wait uncompressed until the full size is written.

A level is read from its rows, written as strips, tiles or chunks, and halved for the next one, so that no
more than a row of tiles is in memory.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.image.large.result import LargeResult
from engine.image.large.storage import halved


class ScratchLevel:
    """The rows of a level in a file of their own, which may be added again."""

    def __init__(self, path: Path, shape: tuple[int, int, int], dtype: np.dtype[Any]) -> None:
        self.path, self.shape, self._dtype = path, shape, dtype
        self._row_bytes = shape[1] * shape[2] * dtype.itemsize
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)), "r+b")

    def add(self, top: int, rows: NDArray[Any]) -> None:
        """Add the half of rows of the level before, whose first is even."""
        small = halved(rows)
        self._file.seek(top // 2 * self._row_bytes)
        self._file.write(np.ascontiguousarray(small).reshape(-1).view(np.uint8).data)

    def read(self, top: int, bottom: int) -> NDArray[Any]:
        """Return rows."""
        self._file.seek(top * self._row_bytes)
        data = self._file.read((bottom - top) * self._row_bytes)
        return np.frombuffer(data, self._dtype).reshape(bottom - top, *self.shape[1:])

    def sync(self) -> None:
        """Bring to the disk what was added."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_levels(
    result: LargeResult, first: ScratchLevel, begun_level: int, begun: Callable[[int], None]
) -> None:
    """Write all levels but the full size; `begun` is called before each, the one to go on with later."""
    scratch = first
    for level in range(1, len(result.levels)):
        height, _ = result.levels[level]
        following = None
        if level + 1 < len(result.levels):
            path = first.path.with_name(f"level-{level + 1}")
            following = ScratchLevel(path, (*result.levels[level + 1], result.channels), result.dtype)
        if level >= begun_level:
            begun(level)
            for top in range(0, height, result.rows_at_once):
                rows = scratch.read(top, min(top + result.rows_at_once, height))
                result.write(level, top, rows)
                if following is not None:
                    following.add(top, rows)
        if scratch is not first:
            scratch.close()
        if following is None:
            return
        scratch = following
