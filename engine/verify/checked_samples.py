"""The samples of a result that are verified, kept while the result itself comes and goes band by band."""

from collections.abc import Sequence

import numpy as np

from engine.verify.regions import Region


class CheckedSamples:
    """Stands for a result where only regions of it are read: these, and pieces of them.

    Parameters
    ----------
    shape : tuple of int
        Shape of the whole result, (H, W, C).
    dtype : numpy dtype
    regions : sequence of Region
        That do not overlap, as `affordable_regions` returns them.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, regions: Sequence[Region]) -> None:
        self.shape, self.dtype = shape, dtype
        self._kept = [(region, np.empty((*map(len, region.ranges), *shape[2:]), dtype)) for region in regions]

    def keep(self, top: int, band: np.ndarray) -> None:
        """Keep what is verified of the rows that begin at `top`."""
        for region, kept in self._kept:
            rows, _ = region.ranges
            # The first of the region's rows from `top` on, and from the end of the band on.
            first, last = (max(0, -(-(row - rows.start) // rows.step)) for row in (top, top + len(band)))
            chosen = rows[first:last]
            if chosen:
                taken = slice(chosen.start - top, chosen.stop - top, rows.step), region.slices[1]
                kept[first : first + len(chosen)] = band[taken]

    def __getitem__(self, piece: tuple[slice, slice]) -> np.ndarray:
        """Return the samples of a region, or of a piece of one."""
        rows, columns = piece
        for region, kept in self._kept:
            if region.top <= rows.start < region.bottom and region.left <= columns.start < region.right:
                return kept[_among(rows, region.ranges[0]), _among(columns, region.ranges[1])]
        raise IndexError(f"{piece} was not kept")


def _among(wanted: slice, kept: range) -> slice:
    """Return where rows or columns lie among those that are kept, which are as far apart."""
    first = kept.index(wanted.start)
    return slice(first, first + len(range(wanted.start, wanted.stop, kept.step)))
