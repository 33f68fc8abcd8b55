"""How well a result agrees with the float64 oracle, by a bound that is computed and not chosen.

A float32 sum of n products and an offset, in whatever order and fused or not, lies within

    |result - oracle| <= gamma * S + (n + 1) * 2^-149,   gamma = (n + 2) u / (1 - (n + 2) u),   u = 2^-24

where S = |weights| correlated with |image| (plus |offset|) (Higham, Accuracy and Stability of Numerical Algorithms,
2nd ed., sections 2.2 and 3.1). Each product is rounded once (or, fused, not at all) and then takes part in at most
n additions, whether they form one long sum or a partial sum a mask row, the offset's included: n + 1 roundings. One
more pays for the oracle's own float64 and for the bound's. The last term covers products that are subnormal.

Where every product and sum is a whole multiple of one power of two, and none reaches 2^24 of it, nothing is ever
rounded: the result has to be equal bit for bit.
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
BAND_MULTIPLY_ADDS = 100_000_000
SIDE = 128  # of the rectangles, pixels


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
    roundings = taps + 2
    gamma = roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)
    bound: np.ndarray = gamma * magnitudes + (taps + 1) * SMALLEST_SUBNORMAL
    return bound


def _quantum(numbers: np.ndarray) -> float:
    """Return the largest power of two that every number (float32) is a whole multiple of; infinity if all are 0."""
    mantissas, exponents = np.frexp(np.asarray(numbers, np.float64))
    whole = (np.abs(mantissas) * 2.0**24).astype(np.int64)
    lowest_bits = (whole & -whole)[whole != 0]
    return float(np.min(np.ldexp(lowest_bits.astype(np.float64), exponents[whole != 0] - 24), initial=np.inf))


def is_exact_class(image: np.ndarray, mask: Mask, ghost_value: float) -> bool:
    """Return whether every order of summation must give the very same float32 result.

    True for integer samples where all products, their sums and the offset are whole multiples of one power of two
    (weights such as 3 or 1/16) and the largest possible sum stays below 2^24 of it.
    """
    if image.dtype.kind not in "iu":
        return False
    ghost, offset = float(np.float32(ghost_value)), float(np.float32(mask.offset))
    largest = max(float(image.max(initial=0)), abs(ghost))
    step = min(_quantum(mask.weights32) * min(1.0, _quantum(np.array([ghost]))), _quantum(np.array([offset])))
    most = float(np.abs(mask.weights32.astype(np.float64)).sum()) * largest + abs(offset)
    return most == 0.0 or (step >= SMALLEST_SUBNORMAL and most / step < EXACT_INTEGERS)


def regions_to_check(
    problem: Problem, seed: int, affordable: int = AFFORDABLE_MULTIPLY_ADDS
) -> tuple[Region, ...]:
    """Return the whole picture where the oracle can afford it; else its four edges and spread rectangles.

    No two regions overlap, so that their pixels add up to what is really checked.

    Parameters
    ----------
    problem : Problem
    seed : int
        Of the choice of rectangles.
    affordable : int
        Multiply-adds that the oracle may spend; the edges are checked whatever they cost.
    """
    height, width = problem.height, problem.width
    if problem.multiply_adds <= affordable:
        return (Region(0, height, 0, width),)
    pixels = max(4096, affordable // (problem.taps * problem.channels))
    edge_rows = max(1, min(problem.mask_shape[0], height, pixels // (8 * width)))
    edge_columns = max(1, min(problem.mask_shape[1], width, pixels // (8 * height)))
    bottom, right = max(edge_rows, height - edge_rows), max(edge_columns, width - edge_columns)
    edges = (
        Region(0, edge_rows, 0, width),
        Region(bottom, height, 0, width),
        Region(edge_rows, bottom, 0, edge_columns),
        Region(edge_rows, bottom, right, width),
    )
    down, across = -(-(bottom - edge_rows) // SIDE), -(-(right - edge_columns) // SIDE)
    wanted = max(1, (pixels - sum(edge.pixels for edge in edges)) // (SIDE * SIDE))
    chosen = np.random.default_rng(seed).choice(down * across, min(wanted, down * across), replace=False)
    inside = (
        Region(top, min(top + SIDE, bottom), left, min(left + SIDE, right))
        for number in sorted(int(number) for number in chosen)
        for top, left in [(edge_rows + number // across * SIDE, edge_columns + number % across * SIDE)]
    )
    return tuple(region for region in (*edges, *inside) if region.pixels > 0)


def _bands(region: Region, multiply_adds: int) -> Iterator[Region]:
    """Yield the region in pieces, so that float64 copies stay small and a cancellation is noticed soon.

    A piece costs the oracle at most `BAND_MULTIPLY_ADDS`, about 0.4 s; `multiply_adds` are those of one pixel.
    """
    pixels = max(1, min(BAND_PIXELS, BAND_MULTIPLY_ADDS // multiply_adds))
    columns = min(region.right - region.left, pixels)
    rows = max(1, pixels // columns)
    for top in range(region.top, region.bottom, rows):
        for left in range(region.left, region.right, columns):
            yield Region(top, min(top + rows, region.bottom), left, min(left + columns, region.right))


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
        Of the rectangles, where not everything can be checked.
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
        for band in _bands(region, problem.taps * problem.channels):
            checkpoint(checked / total)
            _compare(result[band.slices], image, mask, problem, band, must_be_equal, worst)
            checked += band.pixels
    return Verification(
        passed=not worst.failure,
        max_error=worst.error,
        bound=worst.bound,
        checked_pixels=checked,
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
    largest = reference.magnitudes(image, mask, problem.border, problem.cval, band)
    bound = np.zeros_like(wanted) if must_be_equal else rounding_bound(largest, problem.taps)
    with np.errstate(invalid="ignore"):
        error = np.abs(part.astype(np.float64) - wanted)
        # A sum that may pass the largest float32 on the way may end as infinity or, from two infinities, as NaN;
        # what NaN has entered stays NaN.
        may_overflow = (largest + bound > LARGEST_FLOAT32) & ~np.isnan(wanted)
        fine = same | (error <= bound) | (may_overflow & ~np.isfinite(part))
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
