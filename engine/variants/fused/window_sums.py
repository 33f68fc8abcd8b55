"""Sums over neighbouring windows of a line, without subtraction: the order of their additions. Pure Python.

The windows of up to `length` neighbours have cells in common. These are added up once; the cells before them
are added from the back, those after them from the front:

    window 0   a b c | d e
    window 1     b c | d e | f                 (a + (b + (c + de))),  (b + (c + de)) + f,  (c + de) + (f + g)
    window 2       c | d e | f g

So g windows of k cells take k + 2 g - 3 additions, about 3 per window for k = g and 6 for k = 4 g, where each
by itself takes k - 1. Each window's sum is made of its own cells only, each of them once: NaN and infinity
stay in their windows, and there are at most as many roundings as in a direct sum. Source:
`engine/variants/tiles/box_mask.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import TypeVar

Value = TypeVar("Value")

# Cells in common from which on they are added in two chains, each half as long.
LEAST_OF_TWO_CHAINS = 8


@dataclass(frozen=True, slots=True)
class Windows:
    """Neighbouring windows of a line whose cells lie some samples apart."""

    length: int  # Cells of a window.
    apart: int  # Samples from one cell to the next: channels of a row, or columns of a thread.
    count: int  # Windows, each beginning one sample after the one before it; at least `apart`.

    @property
    def samples(self) -> int:
        """Samples under all windows."""
        return self.count + (self.length - 1) * self.apart

    @property
    def groups(self) -> list[range]:
        """Windows that have cells in common, and are summed together."""
        neighbours = -(-self.count // self.apart)
        groups = -(-neighbours // self.length)
        size = -(-neighbours // groups) * self.apart
        return [range(first, min(first + size, self.count)) for first in range(0, self.count, size)]

    @property
    def weighed(self) -> int:
        """How often a cell is multiplied by the weight as it enters a sum."""
        return sum(min(self.apart, len(group)) * (self.length - 1) + len(group) for group in self.groups)


def window_sums(
    windows: Windows,
    cell: Callable[[int], Value],
    begin: Callable[[Value], Value],
    first: Callable[[Value], Value],
    added: Callable[[Value, Value], Value],
) -> list[Value]:
    """Return the sum over each window.

    `cell` returns a sample under the windows; `begin` and `first` the sum of one cell, where a window's sum
    begins and anywhere else; `added` a sum and one more cell.
    """
    length, apart = windows.length, windows.apart

    def of_group(group: range) -> list[Value]:
        lines = range(min(apart, len(group)))
        # The last window's first cell of each line, counted in samples from the group's first one.
        lasts = [range(line, len(group), apart)[-1] for line in lines]
        ends = [line + length * apart for line in lines]
        chains: list[list[Value]] = [[] for _ in lines]
        for index in range(min(lasts), ends[-1]):
            line = index % apart
            if line not in lines or not lasts[line] <= index < ends[line]:
                continue
            own, value = chains[line], cell(group.start + index)
            turn = (index - lasts[line]) // apart % 2
            is_long = apart == 1 and ends[line] - lasts[line] >= LEAST_OF_TWO_CHAINS
            if not own:
                own.append(begin(value))
            elif is_long and len(own) == 1:
                own.append(first(value))
            else:
                own[turn * is_long] = added(own[turn * is_long], value)
        sums = {last: own[0] if len(own) == 1 else add(*own) for last, own in zip(lasts, chains, strict=True)}
        for index in reversed(range(len(group))):
            if index not in sums:
                sums[index] = added(sums[index + apart], cell(group.start + index))
        after: dict[int, Value] = {}
        for index in range(apart, len(group)):
            line, value = index % apart, cell(group.start + index + (length - 1) * apart)
            after[line] = added(after[line], value) if line in after else first(value)
            sums[index] = add(sums[index], after[line])
        return [sums[index] for index in range(len(group))]

    return [total for group in windows.groups for total in of_group(group)]
