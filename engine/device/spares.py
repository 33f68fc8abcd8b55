"""Buffers that nobody uses at the moment, kept for the next one who needs one as large.

Each step is one operation of a dictionary: any thread may call, a finalizer too, which may run between any
two lines of a thread that is in here.
"""

import math
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Buffer = TypeVar("Buffer")

# Up to here any buffer serves.
_ANY_USE_BYTES = 1 << 16


class Spares(Generic[Buffer]):
    """Spare buffers, the oldest first; `release` is called with each that is dropped.

    Parameters
    ----------
    size_of : callable of Buffer -> int
        Its bytes.
    most : int
        How many are kept at most.
    release : callable of Buffer
        Frees what does not go by itself.
    most_times : float
        A buffer serves nobody who needs so many times less.
    """

    def __init__(
        self,
        size_of: Callable[[Buffer], int],
        most: float = math.inf,
        release: Callable[[Buffer], None] = lambda buffer: None,
        most_times: float = 2.0,
    ) -> None:
        self._size_of, self._most, self._release, self._most_times = size_of, most, release, most_times
        self._kept: dict[int, Buffer] = {}

    def take(self, size: int) -> Buffer | None:
        """Return the smallest spare of at least so many bytes, and not too many; None where there is none."""
        for buffer in sorted(self._kept.values(), key=self._size_of):
            if size <= self._size_of(buffer) <= max(self._most_times * size, _ANY_USE_BYTES):
                # Another thread may have been faster.
                found = self._kept.pop(id(buffer), None)
                if found is not None:
                    return found
        return None

    def keep(self, buffers: Iterable[Buffer], most_bytes: float) -> None:
        """Keep buffers for others, and at most so many bytes in all: the oldest go."""
        for buffer in buffers:
            self._kept[id(buffer)] = buffer
        self.trim(most_bytes)

    def trim(self, most_bytes: float) -> None:
        """Drop the oldest until the rest is few and small enough."""
        kept = list(self._kept.values())
        while kept and (len(kept) > self._most or sum(map(self._size_of, kept)) > most_bytes):
            oldest = self._kept.pop(id(kept.pop(0)), None)
            if oldest is not None:
                self._release(oldest)
