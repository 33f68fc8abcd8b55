"""Comparing what a device computed with the oracle, element by element: equal, within rounding, or wrong. Pure functions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_SUBNORMAL = 2.0**-149
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Closeness:
    """How a float32 array agrees with the oracle's.

    Parameters
    ----------
    exact : bool
        Every element equals the oracle's, rounded to float32.
    max_error : float
        Largest finite |result - oracle|.
    bound : float
        Bound at that very element.
    wrong : tuple of int, optional
        Index of the first element that rounding does not explain.
    wrong_bound : float
        Bound there.
    """

    exact: bool = True
    max_error: float = 0.0
    bound: float = 0.0
    wrong: tuple[int, ...] | None = None
    wrong_bound: float = 0.0


def relative_bound(roundings: int) -> float:
    """Return gamma = k u / (1 - k u), u = 2^-24: what k roundings may do to a sum, as a share of the sum of magnitudes.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1.
    """
    return roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)


def compare(
    result: np.ndarray, wanted: np.ndarray, limits: Callable[[], tuple[np.ndarray, np.ndarray]]
) -> Closeness:
    """Compare a result with the oracle's.

    Parameters
    ----------
    result : ndarray, float32
    wanted : ndarray of the same shape, float64
    limits : callable of () -> (ndarray, ndarray)
        The sums of magnitudes and the bounds of |result - wanted|, float64; asked for only where something differs.
    """
    with np.errstate(over="ignore"):
        rounded = wanted.astype(np.float32)
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    if same.all():
        return Closeness()
    largest, bound = limits()
    with np.errstate(invalid="ignore"):
        error = np.abs(result.astype(np.float64) - wanted)
        # A sum that may pass the largest float32 on the way may end as infinity or, from two infinities, as NaN;
        # what NaN has entered stays NaN.
        may_overflow = (largest + bound > LARGEST_FLOAT32) & ~np.isnan(wanted)
        fine = same | (error <= bound) | (may_overflow & ~np.isfinite(result))
    finite = np.where(np.isfinite(error), error, 0.0)
    at = np.unravel_index(int(np.argmax(finite)), error.shape)
    wrong = None if fine.all() else tuple(int(i) for i in np.argwhere(~fine)[0])
    return Closeness(
        exact=False,
        max_error=float(finite[at]),
        bound=float(bound[at]),
        wrong=wrong,
        wrong_bound=0.0 if wrong is None else float(bound[wrong]),
    )
