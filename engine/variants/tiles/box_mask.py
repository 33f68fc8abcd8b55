"""Box masks, whose weights are all equal: what `box` and `cpu-box` refuse, and why their sums keep the bound.

No sum here subtracts (adds a new sample and takes an old one out): in float32 that drifts, and one NaN or
infinity would stay for the rest of the line. Windows are summed from their own samples instead (van Herk
1992, Gil and Werman 1993, for the maximum): a line is cut where two neighbours begin to differ; then each
window is the end of one piece, added up from the back, and the beginning of the next one, added up from the
front. `cpu-box` cuts columns into segments as long as the window; `box` has the cells that some neighbours
share in one piece (`engine/variants/tiles/window_sums.py`). NaN and infinity stay where the direct sum has
them.

Rounding
    Each sample is multiplied by the weight (one rounding, or none in a multiply-add), takes part in at most
    columns - 1 additions along its row, rows - 1 along its column and one with the offset: rows + columns
    roundings at most, never more than the rows x columns + 1 that `engine.work.filtering.agreement` grants,
    because (rows - 1)(columns - 1) >= 0. In the exact class nothing is rounded at all. The weight is applied
    before the sums, so that these can pass the largest float32 only where the direct sum could.

Source: M. van Herk, "A fast algorithm for local minimum and maximum filters on rectangular and octagonal
kernels", Pattern Recognition Letters 13 (1992); J. Gil and M. Werman, "Computing 2-D min, median, and max
filters", IEEE PAMI 15 (1993), section II.
"""

import numpy as np

from engine.geometry.block import Refusal
from engine.mask.mask import Mask


def is_box(mask: Mask) -> bool:
    """Return whether all float32 weights of a mask are equal."""
    weights = mask.weights32
    return bool((weights == weights[0, 0]).all())


def refuse_other_masks(mask: Mask, instead: str) -> Refusal | None:
    """Return which weight differs from the first one, and variants to use instead; None for a box mask."""
    if is_box(mask):
        return None
    weights = mask.weights32
    row, column = divmod(int(np.argmax(weights.ravel() != weights[0, 0])), mask.columns)
    digits = 9 if f"{weights[row, column]:.4g}" == f"{weights[0, 0]:.4g}" else 4
    return Refusal(
        "weights-differ",
        "Needs equal weights",
        f"Needs equal weights; the weight in row 1, column 1 is {weights[0, 0]:.{digits}g}, "
        f"that in row {row + 1}, column {column + 1} is {weights[row, column]:.{digits}g}.",
        f"Use {instead}.",
    )
