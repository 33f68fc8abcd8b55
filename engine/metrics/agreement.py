"""How well a result agrees with the float64 oracle, by a bound that is computed and not chosen.

A float32 sum of n products, in whatever order and fused or not, lies within

    |result - oracle| <= gamma * S + (n + 1) * 2^-149,   gamma = (n + 2) u / (1 - (n + 2) u),   u = 2^-24

where S = |weights| correlated with |image| (plus |offset|), and the last term covers subnormal results
(Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 2.2 and 3.1). Where every product and sum
is an integer below 2^24 the result has to be equal bit for bit, and the bound of such a sum is never needed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine import reference
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.reference import Region
from engine.results import Verification

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_SUBNORMAL = 2.0**-149
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
EXACT_INTEGERS = 2.0**24

# The oracle makes about 0.25 G multiply-adds a second and each check needs two sums: 2.5e8 keeps it near 2 s.
AFFORDABLE_MULTIPLY_ADDS = 250_000_000
BAND_PIXELS = 1 << 18


def rounding_bound(magnitudes: np.ndarray, taps: int) -> np.ndarray:
    """Return the bound of |result - oracle| for sums of `taps` products and an offset.

    Parameters
    ----------
    magnitudes : ndarray
        S: |weights| correlated with |image| plus |offset|, float64.
    taps : int

    Returns
    -------
    ndarray of the same shape, float64
    """
    terms = taps + 3  # the products, the row sums' last addition, and the offset
    gamma = terms * UNIT_ROUNDOFF / (1 - terms * UNIT_ROUNDOFF)
    bound: np.ndarray = gamma * magnitudes + terms * SMALLEST_SUBNORMAL
    return bound


def is_exact_class(image: np.ndarray, mask: Mask, ghost_value: float) -> bool:
    """Return whether every order of summation must give the very same float32 result.

    True where samples, weights, ghost value and offset are integers and the largest possible sum is below 2^24.
    """
    if image.dtype.kind not in "iu":
        return False
    largest = float(max(int(image.max(initial=0)), abs(ghost_value)))
    numbers = np.append(mask.weights32.ravel(), [mask.offset, ghost_value])
    whole = bool(np.all(numbers == np.round(numbers)))
    return whole and float(np.abs(mask.weights32).sum()) * largest + abs(mask.offset) < EXACT_INTEGERS


def regions_to_check(problem: Problem, seed: int, affordable: int = AFFORDABLE_MULTIPLY_ADDS) -> tuple[Region, ...]:
    """Return the whole picture where the oracle can afford it; else its four edges and spread rectangles.

    Parameters
    ----------
    problem : Problem
    seed : int
        Of the rectangles' places.
    affordable : int
        Multiply-adds that the oracle may spend.
    """
    height, width = problem.height, problem.width
    if problem.multiply_adds <= affordable:
        return (Region(0, height, 0, width),)
    pixels = max(4096, affordable // (problem.taps * problem.channels))
    edge_rows = max(1, min(problem.mask_shape[0], height, pixels // (8 * width)))
    edge_columns = max(1, min(problem.mask_shape[1], width, pixels // (8 * height)))
    edges = (
        Region(0, edge_rows, 0, width),
        Region(height - edge_rows, height, 0, width),
        Region(0, height, 0, edge_columns),
        Region(0, height, width - edge_columns, width),
    )
    side = min(128, height, width)
    count = max(1, (pixels - sum(edge.pixels for edge in edges)) // (side * side))
    random = np.random.default_rng(seed)
    tops = random.integers(0, height - side + 1, count)
    lefts = random.integers(0, width - side + 1, count)
    return edges + tuple(
        Region(int(top), int(top) + side, int(left), int(left) + side) for top, left in zip(tops, lefts, strict=True)
    )


def _bands(region: Region) -> Iterator[Region]:
    """Yield the region in bands, so that float64 copies stay small and a cancellation is noticed soon."""
    rows = max(1, BAND_PIXELS // (region.right - region.left))
    for top in range(region.top, region.bottom, rows):
        yield Region(top, min(top + rows, region.bottom), region.left, region.right)


@dataclass
class _Worst:
    """The largest error so far."""

    error: float = 0.0
    bound: float = 0.0
    exact: bool = True
    failure: str = ""


def verify(
    result: np.ndarray,
    image: np.ndarray,
    mask: Mask,
    problem: Problem,
    *,
    seed: int = 0,
    affordable: int = AFFORDABLE_MULTIPLY_ADDS,
    checkpoint: Callable[[float], None] = lambda fraction: None,
) -> Verification:
    """Compare a result with the oracle.

    Parameters
    ----------
    result : ndarray of shape (H, W, C), float32
    image : ndarray of shape (H, W, C), of the problem's dtype
    mask : Mask
    problem : Problem
    seed : int
        Of the rectangles where not everything can be checked.
    affordable : int
        Multiply-adds that the oracle may spend.
    checkpoint : callable of float
        Called with the fraction done; may raise to stop.

    Returns
    -------
    Verification
    """
    regions = regions_to_check(problem, seed, affordable)
    total = sum(region.pixels for region in regions)
    must_be_equal = is_exact_class(image, mask, problem.ghost_value)
    worst = _Worst()
    checked = 0
    for region in regions:
        for band in _bands(region):
            checkpoint(checked / total)
            _compare(result[band.slices], image, mask, problem, band, must_be_equal, worst)
            checked += band.pixels
    distinct = min(total, problem.height * problem.width)
    return Verification(
        passed=not worst.failure,
        max_error=worst.error,
        bound=worst.bound,
        checked_pixels=distinct,
        total_pixels=problem.height * problem.width,
        exact=worst.exact,
        reason=worst.failure,
    )


def _compare(
    part: np.ndarray,
    image: np.ndarray,
    mask: Mask,
    problem: Problem,
    band: Region,
    must_be_equal: bool,
    worst: _Worst,
) -> None:
    wanted = reference.correlate(image, mask, problem.border, problem.cval, band)
    with np.errstate(over="ignore"):
        rounded = wanted.astype(np.float32)
    same = (part == rounded) | (np.isnan(part) & np.isnan(rounded))
    if same.all():
        return
    worst.exact = False
    if must_be_equal:
        bound = np.zeros_like(wanted)
    else:
        bound = rounding_bound(
            reference.magnitudes(image, mask, problem.border, problem.cval, band), problem.taps
        )
    with np.errstate(invalid="ignore"):
        error = np.abs(part.astype(np.float64) - wanted)
        # A sum that may pass the largest float32 on the way may end as infinity or, from two infinities, as NaN.
        overflow = (np.abs(wanted) + bound > LARGEST_FLOAT32) | (bound > LARGEST_FLOAT32)
        fine = same | (error <= bound) | (overflow & ~np.isfinite(part))
    finite = np.where(np.isfinite(error), error, 0.0)
    at = np.unravel_index(int(np.argmax(finite)), error.shape)
    if finite[at] > worst.error:
        worst.error, worst.bound = float(finite[at]), float(bound[at])
    if not fine.all() and not worst.failure:
        row, column, channel = (int(i) for i in np.argwhere(~fine)[0])
        worst.failure = (
            f"not verified: row {band.top + row}, column {band.left + column}, channel {channel} is "
            f"{part[row, column, channel]!s}, the oracle says {wanted[row, column, channel]:.9g} "
            f"(rounding explains at most {bound[row, column, channel]:.2g})"
        )
