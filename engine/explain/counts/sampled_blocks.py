"""Which blocks of a grid are counted, and how many each stands for. No Numba in here.

Blocks at an edge of the grid ask for less, or for other cells, than those in the middle. Along each axis the
first and the last ones are counted, and some neighbours in the middle, which stand for all others: several,
since blocks that begin at different offsets in a line of 128 bytes differ.
"""

from itertools import product
from typing import NamedTuple

from engine.ptx.findings import Index3


class Axis(NamedTuple):
    """How an axis of a grid is sampled: so many blocks at its beginning, in the middle and at its end."""

    first: int
    middle: int
    last: int


class Sample(NamedTuple):
    """A block, how many blocks it stands for, and what it shares with those that stand for the same ones.

    `place` is its place along each axis, None along those where it stands for others.
    """

    block: Index3
    weight: float
    place: tuple[int | None, ...]


def places(count: int, axis: Axis) -> list[tuple[int, float]]:
    """Return places along an axis of `count` blocks, and how many places each stands for.

    One in the middle stands for those that lie a multiple of `middle` further: offsets repeat.
    """
    first, middle, last = axis
    end = count - last
    if end - first <= middle:
        return [(place, 1.0) for place in range(count)]
    begin = first + (end - first - middle) // 2
    alike = [
        len(range(first + (place - first) % middle, end, middle)) for place in range(begin, begin + middle)
    ]
    ends = (*range(first), *range(end, count))
    return sorted(
        [
            *((place, 1.0) for place in ends),
            *zip(range(begin, begin + middle), map(float, alike), strict=True),
        ]
    )


def sampled(grid: Index3, axes: tuple[Axis, ...]) -> list[Sample]:
    """Return the blocks of a grid that are counted."""
    along = [places(count, axis) for count, axis in zip(grid, axes, strict=True)]
    return [
        Sample(
            (x, y, z),
            of_x * of_y * of_z,
            tuple(
                place if of_place == 1.0 else None for place, of_place in ((x, of_x), (y, of_y), (z, of_z))
            ),
        )
        for (z, of_z), (y, of_y), (x, of_x) in product(*reversed(along))
    ]
