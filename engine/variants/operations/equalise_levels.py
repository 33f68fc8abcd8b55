"""What the equalisations share: the type of the levels, and the sign of a channel that stays as it is."""

import numpy as np

from engine.work.operations.problem import OperationProblem

KEPT = -1
"""Instead of a level: the sample stays as it is."""


def levels_dtype(problem: OperationProblem) -> str:
    """Return the type of the levels: whole numbers for 8 and 16 bit."""
    return "float32" if problem.is_float else "int32"


def levels_of(counts: np.ndarray, problem: OperationProblem) -> np.ndarray:
    """Return the level of each bin from the counts (channels, bins)."""
    counts = counts.astype(np.int64)
    below = np.cumsum(counts, axis=1)
    # The count of the first bin that has any: the least of the sums above 0.
    darkest = np.where(below > 0, below, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    above, among = below - darkest, below[:, -1:] - darkest
    divisor = np.maximum(among, 1)
    if problem.is_float:
        levels = above.astype(np.float32) / divisor.astype(np.float32)
    else:
        levels = (2 * int(problem.full_scale) * above + divisor) // (2 * divisor)
    return np.where((among > 0) & (above >= 0), levels, KEPT).astype(levels_dtype(problem))
