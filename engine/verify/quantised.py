"""Comparing a result of 8 or 16 bit with the oracle: a sample may be what any sum within the bound rounds to.

With r the oracle's float64 result and b the bound of a float32 sum, the sum lies within r - b and r + b. Saturating and
rounding half to even keep the order, so the sample y is right exactly if quantise(r - b) <= y <= quantise(r + b). Where
b is 0 that is one number.
"""

from collections.abc import Callable

import numpy as np

from engine.image.convert import to_depth
from engine.verify.closeness import LARGEST_FLOAT32, Closeness


def compare_quantised(
    result: np.ndarray, wanted: np.ndarray, limits: Callable[[], tuple[np.ndarray, np.ndarray]]
) -> Closeness:
    """Compare a result with the oracle's.

    Parameters
    ----------
    result : ndarray, uint8 or uint16
    wanted : ndarray of the same shape, float64
        Neither saturated nor rounded.
    limits : callable of () -> (ndarray, ndarray)
        The sums of magnitudes and the bounds of a float32 sum, float64; asked for only where something differs.

    Returns
    -------
    Closeness
        Errors and bounds in steps of the result's type.
    """
    nearest = to_depth(wanted, result.dtype)
    if np.array_equal(result, nearest):
        return Closeness()
    largest, bound = limits()
    low, high = to_depth(wanted - bound, result.dtype), to_depth(wanted + bound, result.dtype)
    # A sum that may pass the largest float32 on the way may end as infinity or NaN, so at either end.
    may_overflow = (largest + bound > LARGEST_FLOAT32) & ~np.isnan(wanted)
    at_an_end = (result == 0) | (result == np.iinfo(result.dtype).max)
    fine = ((low <= result) & (result <= high)) | (may_overflow & at_an_end)
    steps = np.abs(result.astype(np.int64) - nearest)
    allowed = np.maximum(high.astype(np.int64) - nearest, nearest - low.astype(np.int64))
    at = np.unravel_index(int(np.argmax(steps)), steps.shape)
    wrong = None if fine.all() else tuple(int(i) for i in np.argwhere(~fine)[0])
    return Closeness(
        exact=False,
        max_error=float(steps[at]),
        bound=float(allowed[at]),
        wrong=wrong,
        wrong_bound=0.0 if wrong is None else float(allowed[wrong]),
    )
