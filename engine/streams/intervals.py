"""The memory that results of a stream lie in, or will: no two may share any."""

from bisect import bisect_left, insort

import numpy as np


class IntervalsInUse:
    """Stretches of memory, none of which overlap."""

    def __init__(self) -> None:
        self._stretches: list[tuple[int, int]] = []

    def take(self, place: np.ndarray) -> bool:
        """Add a C-contiguous array; return False, and do nothing, if it shares memory with another one."""
        begin, end = _stretch(place)
        after = bisect_left(self._stretches, (begin, end))
        if after < len(self._stretches) and self._stretches[after][0] < end:
            return False
        if after and self._stretches[after - 1][1] > begin:
            return False
        insort(self._stretches, (begin, end))
        return True

    def leave(self, place: np.ndarray) -> None:
        """Take an array out; one that was never added is nowhere in here."""
        at = bisect_left(self._stretches, _stretch(place))
        if self._stretches[at : at + 1] == [_stretch(place)]:
            del self._stretches[at]


def _stretch(place: np.ndarray) -> tuple[int, int]:
    begin = place.ctypes.data
    return begin, begin + place.nbytes
