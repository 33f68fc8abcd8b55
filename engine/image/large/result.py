"""A picture that is written in parts, from top to bottom, level after level."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.image.large.storage import Storage


class LargeResult(ABC):
    """A result under way.

    Attributes
    ----------
    levels : tuple of (int, int)
        Rows and columns of each level.
    channels, dtype
        Of its samples.
    notes : list of str
        What of the source it does not keep.
    """

    storage: Storage
    levels: tuple[tuple[int, int], ...]
    channels: int
    dtype: np.dtype
    notes: list[str]

    @property
    def rows_at_once(self) -> int:
        """Rows that are written together; a multiple of the rows of a tile, strip or chunk."""
        return self.storage.rows_at_once

    @abstractmethod
    def write(self, level: int, top: int, rows: np.ndarray) -> None:
        """Write `rows_at_once` rows, or those that are left: (rows, columns of the level, channels)."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Bring to the disk what was written, and return what a later run needs to go on: plain data."""

    @abstractmethod
    def finish(self) -> None:
        """Write what makes it a picture, to the disk."""

    @abstractmethod
    def close(self) -> None:
        """Close its files."""


class RowUnits:
    """Collects rows, which come in order, until as many are there as are written together."""

    def __init__(self, shape: tuple[int, int, int], dtype: np.dtype, unit: int, top: int) -> None:
        self._height, width, channels = shape
        self._unit, self._top = unit, top
        self._rows = np.empty((min(unit, self._height), width, channels), dtype)
        self._filled = 0

    def add(self, rows: np.ndarray, write: Callable[[int, np.ndarray], None]) -> None:
        """Add rows; call `write` with the first row of each unit, and with the unit, which is used again."""
        taken = 0
        while taken < len(rows):
            left = self._height - self._top - self._filled
            wanted = min(self._unit - self._filled, left)
            count = min(wanted, len(rows) - taken)
            is_whole = self._filled == 0 and count in (self._unit, left)
            if is_whole:
                write(self._top, rows[taken : taken + count])
                self._top += count
            else:
                self._rows[self._filled : self._filled + count] = rows[taken : taken + count]
                self._filled += count
                if self._filled == self._unit or self._top + self._filled == self._height:
                    filled, self._filled = self._filled, 0
                    write(self._top, self._rows[:filled])
                    self._top += filled
            taken += count
