"""Which cell of the picture each value in shared memory stands for: by where it lies there.

A ghost cell has a value that was not loaded, or that of another cell. What was loaded from the picture says
how the rows of a tile lie in shared memory, and so where its ghost cells do. Where rows do not lie one after
another, as where vectors are swapped, it is known of what was loaded from its own place alone.
"""

import numpy as np
from numpy.typing import NDArray

from engine.explain.tiles.block_loads import NOT_OF_PICTURE, Accesses
from engine.ptx.active import Numbers

NOWHERE = np.iinfo(np.int32).min
"""In place of a row: nobody knows which cell it is."""


def places(
    kept: Accesses,
    rows: Numbers,
    columns: Numbers,
    unit: int,
    size: tuple[int, int],
    is_near: NDArray[np.bool_],
) -> tuple[Numbers, Numbers]:
    """Return row and column of each value, before the border's rule.

    Parameters
    ----------
    kept : Accesses
    rows, columns : ndarray of int
        Where in the picture each was loaded from; those of values that were not loaded have no meaning.
    unit : int
        Bytes of a value.
    size : (int, int)
        Rows and columns of the picture.
    is_near : ndarray of bool
        Which were loaded from a place that is under the mask of a result: others may be in place of a ghost
        cell.
    """
    is_loaded = kept.samples != NOT_OF_PICTURE
    own = np.where(is_loaded, rows, NOWHERE), columns
    if not is_near.any():
        return own
    lots = _lots(kept)
    pitch = _pitch(kept.addresses[is_near], rows[is_near], columns[is_near], lots[is_near])
    if pitch < unit:
        return own
    # Where row 0 and column 0 of the picture would lie, and how many values lie between two rows.
    zeros, wide = kept.addresses - rows * pitch - columns * unit, pitch // unit
    zero_of, known = np.zeros(lots.max() + 1, np.int64), np.unique(lots[is_near])
    for lot in known:
        zero_of[lot] = _commonest(zeros[is_near & (lots == lot)])
    is_known = np.isin(lots, known)
    at = (kept.addresses - zero_of[lots]) // unit
    is_right = is_near & (zeros == zero_of[lots])
    # The tile begins with its first row's first cell.
    lowest, first = columns[is_right].min(), at[is_known][kept.addresses[is_known].argmin()]
    left = lowest - (lowest - first) % wide
    found_columns = np.where(is_known, (at - left) % wide + left, columns)
    found_rows = np.where(is_known, (at - found_columns) // wide, own[0])
    is_inside = (found_rows >= 0) & (found_rows < size[0]) & (found_columns >= 0) & (found_columns < size[1])
    is_wrong = is_inside & ((found_rows != own[0]) | (found_columns != columns))
    return own if is_wrong.any() else (found_rows, found_columns)


def _lots(kept: Accesses) -> Numbers:
    """Return how often each place was filled before: a block keeps one thing after another there."""
    order = np.lexsort((kept.times, kept.addresses))
    addresses = kept.addresses[order]
    at = np.arange(len(order))
    is_new = np.concatenate(([True], addresses[1:] != addresses[:-1]))[: len(order)]
    lots = np.zeros(len(order), np.int64)
    lots[order] = at - np.maximum.accumulate(np.where(is_new, at, 0))
    return lots


def _pitch(addresses: Numbers, rows: Numbers, columns: Numbers, lots: Numbers) -> int:
    """Return how many bytes rows lie apart; more than there are where all lie in one row."""
    order = np.lexsort((addresses, columns, lots))
    by = [np.diff(one[order]) for one in (lots, columns, rows)]
    apart = np.diff(addresses[order])[(by[0] == 0) & (by[1] == 0) & (by[2] == 1)]
    return _commonest(apart) if len(apart) else 1 << 40


def _commonest(values: Numbers) -> int:
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])
