"""The threads that go on together, and what requests of their warps to memory take.

A thread is known by its slot: its number within its block, in the block's row of slots, whole warps long.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

WARP = 32
_WARP_SHIFT = 5
Numbers = NDArray[np.int64]


class Active:
    """Threads that are at one place, by their slots in rising order.

    Parameters
    ----------
    slots : ndarray of int64
    row : int
        Slots of a block.
    members : ndarray of int64, optional
        Their places among all threads that run; None: all of them.
    """

    def __init__(self, slots: Numbers, row: int, members: Numbers | None = None) -> None:
        self.slots, self.row, self.members = slots, row, members
        self.count = len(slots)

    def some(self, chosen: Numbers) -> "Active":
        """Return those at these places among them."""
        members = chosen if self.members is None else self.members[chosen]
        return Active(self.slots[chosen], self.row, members)

    @cached_property
    def blocks(self) -> Numbers:
        """The number of each thread's block."""
        return self.slots // self.row

    @cached_property
    def _warp_of(self) -> Numbers:
        return self.slots >> _WARP_SHIFT

    @cached_property
    def warps(self) -> int:
        """How many warps they are of."""
        return len(self.starts(_WARP_SHIFT))

    @cached_property
    def _starts(self) -> dict[int, Numbers]:
        return {}

    def starts(self, shift: int) -> Numbers:
        """Return the places where the threads of another 2^shift slots begin."""
        found = self._starts.get(shift)
        if found is None:
            of = self.slots >> shift
            found = np.flatnonzero(np.concatenate(([True], of[1:] != of[:-1])))
            self._starts[shift] = found
        return found

    @cached_property
    def _row_numbers(self) -> dict[int, Numbers]:
        return {}

    def rows(self, shift: int) -> Numbers:
        """Return for each thread the number of its 2^shift slots, from 0 on without gaps."""
        found = self._row_numbers.get(shift)
        if found is None:
            starts = self.starts(shift)
            found = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, self.count)))
            self._row_numbers[shift] = found
        return found

    def sectors(self, addresses: Numbers) -> tuple[int, int, Numbers]:
        """Return sectors of 32 bytes, lines of 128, and the numbers of the sectors, each once per warp."""
        numbers = addresses >> 5
        starts = self.starts(_WARP_SHIFT)
        steps = numbers[1:] - numbers[:-1]
        is_first = np.empty(self.count, bool)
        is_first[0] = True
        np.not_equal(steps, 0, out=is_first[1:])
        is_first[starts] = True
        falls = steps < 0
        falls[starts[1:] - 1] = False
        if falls.any():
            order = np.lexsort((numbers, self.rows(_WARP_SHIFT)))
            numbers = numbers[order]
            np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
            is_first[starts] = True
        different = numbers[is_first]
        lines = different >> 2
        new_line = np.empty(len(different), bool)
        new_line[0] = True
        np.not_equal(lines[1:], lines[:-1], out=new_line[1:])
        # A warp that begins within the line in which the one before ended.
        first_of_warp = np.cumsum(is_first)[starts] - 1
        new_line[first_of_warp] = True
        return len(different), int(np.count_nonzero(new_line)), different

    def wavefronts(self, addresses: Numbers, size: int) -> int:
        """Return the passes over the 32 banks of shared memory that requests take.

        Up to 4 bytes a warp is served together; of 8 bytes each half of it, of 16 each quarter.
        """
        words_each = max(1, size >> 2)
        shift = {1: 5, 2: 4, 4: 3}[words_each]
        starts, words = self.starts(shift), addresses >> 2
        least, most = np.minimum.reduceat(words, starts), np.maximum.reduceat(words, starts)
        if (most - least <= WARP - words_each).all():
            return len(starts)
        rows = self.rows(shift)
        if words_each > 1:
            words = (words[:, None] + np.arange(words_each)).reshape(-1)
            rows = np.repeat(rows, words_each)
        keys = np.unique(rows * (1 << ARRAY_WORDS) + words)
        rows, words = keys >> ARRAY_WORDS, keys & ((1 << ARRAY_WORDS) - 1)
        banks = np.bincount(rows * WARP + (words & (WARP - 1)), minlength=len(starts) * WARP)
        return int(banks.reshape(-1, WARP).max(1).sum())

    def different_words(self, addresses: Numbers) -> int:
        """Return the different words of 4 bytes of requests to constant memory, served one by one."""
        words = addresses >> 2
        return len(np.unique(self.rows(_WARP_SHIFT) * (1 << 44) + (words & ((1 << 44) - 1))))


# Shared memory has less words than 2 to this.
ARRAY_WORDS = 20
