"""A separable mask as two: a column and a row, which one after the other do what the mask does."""

import numpy as np

from engine.mask.factors import factor
from engine.mask.mask import Mask, Weights

# Powers of two that can go from one factor to the other.
_MOST_SHIFTS = 32


def split(mask: Mask) -> tuple[Mask, Mask] | None:
    """Return a column and a row whose product is the mask within float32 rounding; None if there are none.

    Applied in any order, the offset is added by the row. Whole numbers stay whole where they can. A mask of
    one row, of one column or of zeros has nothing to split.
    """
    factors = factor(mask)
    if not factors.separable or min(mask.shape) == 1 or not mask.weights32.any():
        return None
    column, row = _whole(factors.column.astype(np.float64), factors.row.astype(np.float64))
    name = f"{mask.name}, " if mask.name else ""
    return (
        Mask(column[:, np.newaxis], (mask.anchor[0], 0), 0.0, f"{name}column"),
        Mask(row[np.newaxis, :], (0, mask.anchor[1]), mask.offset, f"{name}row"),
    )


def _whole(column: Weights, row: Weights) -> tuple[Weights, Weights]:
    """Move a power of two from the column to the row until both have whole numbers, if they ever do."""
    for shift in range(_MOST_SHIFTS):
        fewer, more = np.ldexp(column, -shift), np.ldexp(row, shift)
        if not (fewer % 1.0).any() and not (more % 1.0).any():
            return fewer, more
    return column, row
