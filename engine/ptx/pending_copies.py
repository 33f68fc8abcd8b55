"""Asynchronous copies that threads have begun and not waited for: their groups, thread by thread."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.ptx.active import Active
from engine.ptx.memory import Place


@dataclass(eq=False)
class Copy:
    """Copies of several threads that one instruction began, and the group of each."""

    number: int
    place: Place
    size: int
    groups: NDArray[np.int64]


class PendingCopies:
    """The copies of a chunk that no thread has waited for yet."""

    def __init__(self, slots: int) -> None:
        # How many groups each thread has closed.
        self.closed = np.zeros(slots, np.int64)
        self._open: list[Copy] = []

    def begin(self, number: int, place: Place, size: int) -> None:
        """Note copies that have begun."""
        self._open.append(Copy(number, place, size, self.closed[place.active.slots]))

    def waited(self, active: Active, left: int) -> list[Copy]:
        """Return the copies that threads have waited for, which wait until at most `left` groups are left.

        Those are of the groups that each thread has closed; below 0: all.
        """
        limit = np.full(len(self.closed), -1, np.int64)
        limit[active.slots] = self.closed[active.slots] - left
        still, done = [], []
        for copy in self._open:
            is_done = copy.groups < limit[copy.place.active.slots]
            if is_done.any():
                there = np.flatnonzero(is_done)
                done.append(Copy(copy.number, _some(copy.place, there), copy.size, copy.groups[there]))
            if not is_done.all():
                rest = np.flatnonzero(~is_done)
                still.append(Copy(copy.number, _some(copy.place, rest), copy.size, copy.groups[rest]))
        self._open = still
        return done


def _some(place: Place, chosen: NDArray[np.intp]) -> Place:
    offsets = place.offsets if place.offsets.ndim == 0 else place.offsets[chosen]
    flat = place.flat if place.flat.ndim == 0 else place.flat[chosen]
    return Place(place.segment, offsets, flat, place.active.some(chosen), None)
