"""Comparing a result with the oracle, element by element: equal, within rounding, or wrong."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine.image.convert import to_depth

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_SUBNORMAL = 2.0**-149
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


class Closeness(NamedTuple):
    """How an array agrees with the oracle's; of 8 and 16 bit, errors and bounds are steps of the type.

    `exact`: every element equals the oracle's, rounded to the type. `bound` is that of the element with the
    largest finite error; `wrong` is the first element that rounding does not explain.
    """

    exact: bool = True
    max_error: float = 0.0
    bound: float = 0.0
    wrong: tuple[int, ...] | None = None
    wrong_bound: float = 0.0


Limits = Callable[[], tuple[np.ndarray, np.ndarray]]
"""The sums of magnitudes and the bounds of |result - oracle| of a float32 sum, float64."""


def relative_bound(roundings: int) -> float:
    """Return gamma = k u / (1 - k u), u = 2^-24: the relative bound of k roundings.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1.
    """
    return roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)


def compare(result: np.ndarray, wanted: np.ndarray, limits: Limits) -> Closeness:
    """Compare a float32 result with the oracle's; `limits` is called where something differs."""
    with np.errstate(over="ignore"):
        rounded = wanted.astype(np.float32)
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    if same.all():
        return Closeness()
    largest, bound = limits()
    with np.errstate(invalid="ignore"):
        error = np.abs(result.astype(np.float64) - wanted)
        # What may pass the largest float32 on the way may end as infinity or, from two infinities, as NaN.
        fine = same | (error <= bound) | (_may_overflow(wanted, largest, bound) & ~np.isfinite(result))
    return _closeness(np.where(np.isfinite(error), error, 0.0), bound, fine)


def compare_quantised(result: np.ndarray, wanted: np.ndarray, limits: Limits) -> Closeness:
    """Compare a result of 8 or 16 bit with the oracle's in float64, neither saturated nor rounded.

    With r the oracle's result and b the bound of a float32 sum, the sum lies within r - b and r + b.
    Saturating and rounding half to even keep the order, so the sample y is right exactly if quantise(r - b)
    <= y <= quantise(r + b). Where b is 0 that is one number.
    """
    nearest = to_depth(wanted, result.dtype)
    if np.array_equal(result, nearest):
        return Closeness()
    largest, bound = limits()
    low, high = to_depth(wanted - bound, result.dtype), to_depth(wanted + bound, result.dtype)
    # What may pass the largest float32 on the way may end at either end of the range.
    at_an_end = (result == 0) | (result == np.iinfo(result.dtype).max)
    fine = ((low <= result) & (result <= high)) | (_may_overflow(wanted, largest, bound) & at_an_end)
    steps = np.abs(result.astype(np.int64) - nearest)
    allowed = np.maximum(high.astype(np.int64) - nearest, nearest - low.astype(np.int64))
    return _closeness(steps, allowed, fine)


def _may_overflow(wanted: np.ndarray, largest: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return where a partial sum may pass the largest float32; a sum with NaN stays NaN."""
    passes: np.ndarray = (largest + bound > LARGEST_FLOAT32) & ~np.isnan(wanted)
    return passes


def _closeness(error: np.ndarray, bound: np.ndarray, fine: np.ndarray) -> Closeness:
    at = np.unravel_index(int(np.argmax(error)), error.shape)
    wrong = None if fine.all() else tuple(np.argwhere(~fine)[0].tolist())
    return Closeness(
        exact=False,
        max_error=float(error[at]),
        bound=float(bound[at]),
        wrong=wrong,
        wrong_bound=0.0 if wrong is None else float(bound[wrong]),
    )
