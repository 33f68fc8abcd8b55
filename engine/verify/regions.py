"""Which parts of a result are checked where the oracle cannot afford all: edges and spread rectangles."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Region:
    """A rectangle of result pixels: rows top .. bottom - 1, columns left .. right - 1."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def pixels(self) -> int:
        """Pixels in the rectangle."""
        return (self.bottom - self.top) * (self.right - self.left)

    @property
    def slices(self) -> tuple[slice, slice]:
        """The rectangle as (row, column) slices of an array."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    def bands(self, pixels: int) -> Iterator["Region"]:
        """Yield the rectangle in pieces of at most so many pixels, at least one each."""
        columns = max(1, min(self.right - self.left, pixels))
        rows = max(1, pixels // columns)
        for top in range(self.top, self.bottom, rows):
            for left in range(self.left, self.right, columns):
                yield Region(top, min(top + rows, self.bottom), left, min(left + columns, self.right))


SIDE = 128  # of the rectangles, elements


def affordable_regions(
    height: int, width: int, edges: tuple[int, int], cost: int, affordable: int, seed: int
) -> tuple[Region, ...]:
    """Return the whole result where the oracle can afford it; else its four edges and spread rectangles.

    No two regions overlap, so that their elements add up to what is really checked.

    Parameters
    ----------
    edges : (int, int)
        Rows and columns of the edges, which are checked whatever they cost; on thin results they are thinner.
    cost : int
        Multiply-adds that the oracle spends on one element, of the `affordable` ones in all.
    seed : int
        Of the choice of rectangles.
    """
    if height * width * cost <= affordable:
        return (Region(0, height, 0, width),)
    elements = max(4096, affordable // cost)
    rows = max(1, min(edges[0], height, elements // (8 * width)))
    columns = max(1, min(edges[1], width, elements // (8 * height)))
    bottom, right = max(rows, height - rows), max(columns, width - columns)
    outer = (
        Region(0, rows, 0, width),
        Region(bottom, height, 0, width),
        Region(rows, bottom, 0, columns),
        Region(rows, bottom, right, width),
    )
    down, across = -(-(bottom - rows) // SIDE), -(-(right - columns) // SIDE)
    wanted = max(1, (elements - sum(edge.pixels for edge in outer)) // (SIDE * SIDE))
    chosen = np.random.default_rng(seed).choice(down * across, min(wanted, down * across), replace=False)
    inside = (
        Region(top, min(top + SIDE, bottom), left, min(left + SIDE, right))
        for number in sorted(chosen.tolist())
        for top, left in [(rows + number // across * SIDE, columns + number % across * SIDE)]
    )
    return tuple(region for region in (*outer, *inside) if region.pixels > 0)
