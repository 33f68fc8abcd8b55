"""The threads that go on together, and what requests of their warps to memory take.

A thread is known by its slot: its number within its block, in the block's row of slots, whole warps long.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

WARP = 32
_WARP_SHIFT = 5
# Offsets within a segment of memory are less than 2 to this.
_PART_SHIFT = 44
_WHOLE = np.zeros(1, np.int64)
Numbers = NDArray[np.int64]


class Active:
    """Threads that are at one place, by their slots in rising order.

    Parameters
    ----------
    slots : ndarray of int64
    row : int
        Slots of a block.
    """

    def __init__(self, slots: Numbers, row: int) -> None:
        self.slots, self.row = slots, row
        self.count = len(slots)
        # By the logarithm of how many slots go together.
        self._starts: dict[int, Numbers] = {}

    def some(self, chosen: Numbers) -> "Active":
        """Return those at these places among them."""
        return Active(self.slots[chosen], self.row)

    @cached_property
    def blocks(self) -> Numbers:
        """The number of each thread's block."""
        return self.slots // self.row

    @cached_property
    def warps(self) -> int:
        """How many warps they are of."""
        return len(self.starts(_WARP_SHIFT))

    @cached_property
    def warp_numbers(self) -> Numbers:
        """The number of each warp among all that run."""
        return self.slots[self.starts(_WARP_SHIFT)] >> _WARP_SHIFT

    @cached_property
    def threads_of_warps(self) -> Numbers:
        """How many of them each warp has."""
        return np.diff(np.append(self.starts(_WARP_SHIFT), self.count))

    def starts(self, shift: int) -> Numbers:
        """Return the places where the threads of another 2^shift slots begin."""
        found = self._starts.get(shift)
        if found is None:
            of = self.slots >> shift
            found = np.flatnonzero(np.concatenate(([True], of[1:] != of[:-1])))
            self._starts[shift] = found
        return found

    def sectors(self, addresses: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return each warp's sectors of 32 bytes and lines of 128, and the numbers of all these sectors."""
        numbers, of_warps = different(addresses >> 5, self.starts(_WARP_SHIFT))
        _, lines = different(numbers >> 2, np.cumsum(of_warps) - of_warps)
        return of_warps, lines, numbers

    def wavefronts(self, addresses: Numbers, size: int) -> Numbers:
        """Return the passes over the 32 banks of shared memory that each warp's request takes.

        Up to 4 bytes a warp is served together; of 8 bytes each half of it, of 16 each quarter.
        """
        each = max(1, size >> 2)
        shift = {1: 5, 2: 4, 4: 3}[each]
        starts, words = self.starts(shift), addresses >> 2
        least, most = np.minimum.reduceat(words, starts), np.maximum.reduceat(words, starts)
        if (most - least <= WARP - each).all():
            fronts = np.ones_like(starts)
        else:
            words = (words[:, None] + np.arange(each)).reshape(-1)
            words, counts = different(words, starts * each)
            banks = np.repeat(np.arange(len(starts)) * WARP, counts) + (words & (WARP - 1))
            fronts = np.bincount(banks, minlength=len(starts) * WARP).reshape(-1, WARP).max(1)
        if shift == _WARP_SHIFT:
            return fronts
        return np.add.reduceat(fronts, np.searchsorted(starts, self.starts(_WARP_SHIFT)))

    def different_words(self, addresses: Numbers) -> Numbers:
        """Return each warp's different words of 4 bytes in constant memory, served one by one."""
        return different(addresses >> 2, self.starts(_WARP_SHIFT))[1]


def different(numbers: Numbers, starts: Numbers = _WHOLE) -> tuple[Numbers, Numbers]:
    """Return the different ones of each part of some numbers, sorted, and how many each part has.

    NumPy's own takes five times as long, and mostly the numbers are in order.
    """
    falls_between = np.count_nonzero(numbers[starts[1:]] < numbers[starts[1:] - 1])
    if np.count_nonzero(numbers[1:] < numbers[:-1]) > falls_between:
        parts = np.repeat(np.arange(len(starts)) << _PART_SHIFT, np.diff(starts, append=len(numbers)))
        numbers = np.sort(parts + numbers) & ((1 << _PART_SHIFT) - 1)
    is_first = np.empty(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    is_first[starts] = True
    return numbers[is_first], np.add.reduceat(is_first, starts, dtype=np.int64)
