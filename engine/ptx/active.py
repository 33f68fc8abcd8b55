"""The threads that go on together.

A thread is known by its slot: its number within its block, in the block's row of slots, whole warps long.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

WARP = 32
WARP_SHIFT = 5
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
        return len(self.starts(WARP_SHIFT))

    @cached_property
    def warp_numbers(self) -> Numbers:
        """The number of each warp among all that run."""
        return self.slots[self.starts(WARP_SHIFT)] >> WARP_SHIFT

    @cached_property
    def threads_of_warps(self) -> Numbers:
        """How many of them each warp has."""
        return np.diff(np.append(self.starts(WARP_SHIFT), self.count))

    def starts(self, shift: int) -> Numbers:
        """Return the places where the threads of another 2^shift slots begin."""
        found = self._starts.get(shift)
        if found is None:
            of = self.slots >> shift
            found = np.flatnonzero(np.concatenate(([True], of[1:] != of[:-1])))
            self._starts[shift] = found
        return found
