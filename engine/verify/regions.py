"""Which parts of a result are checked where the oracle cannot afford all of it: the edges and spread rectangles."""

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


SIDE = 128  # of the rectangles, elements


def spread_regions(
    height: int, width: int, edge_rows: int, edge_columns: int, elements: int, seed: int
) -> tuple[Region, ...]:
    """Return the four edges, whatever they cost, and as many rectangles in between as there are elements left.

    No two regions overlap, so that their elements add up to what is really checked.

    Parameters
    ----------
    height, width : int
        Of the result.
    edge_rows, edge_columns : int
        Thickness of the edges, at least 1.
    elements : int
        Elements that may be checked.
    seed : int
        Of the choice of rectangles.
    """
    bottom, right = max(edge_rows, height - edge_rows), max(edge_columns, width - edge_columns)
    edges = (
        Region(0, edge_rows, 0, width),
        Region(bottom, height, 0, width),
        Region(edge_rows, bottom, 0, edge_columns),
        Region(edge_rows, bottom, right, width),
    )
    down, across = -(-(bottom - edge_rows) // SIDE), -(-(right - edge_columns) // SIDE)
    wanted = max(1, (elements - sum(edge.pixels for edge in edges)) // (SIDE * SIDE))
    chosen = np.random.default_rng(seed).choice(down * across, min(wanted, down * across), replace=False)
    inside = (
        Region(top, min(top + SIDE, bottom), left, min(left + SIDE, right))
        for number in sorted(int(number) for number in chosen)
        for top, left in [(edge_rows + number // across * SIDE, edge_columns + number % across * SIDE)]
    )
    return tuple(region for region in (*edges, *inside) if region.pixels > 0)
