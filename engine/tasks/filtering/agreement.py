"""How well a result agrees with the float64 oracle, by a bound that is computed and not chosen.

A float32 sum of n products and an offset, in whatever order and fused or not, lies within

    |result - oracle| <= gamma * S + (n + 1) * 2^-149,   gamma = (n + 2) u / (1 - (n + 2) u),   u = 2^-24

where S = |weights| correlated with |image| (plus |offset|) (Higham, Accuracy and Stability of Numerical Algorithms,
2nd ed., sections 2.2 and 3.1). Each product is rounded once (or, fused, not at all) and then takes part in at most
n additions, whether they form one long sum or a partial sum a mask row, the offset's included: n + 1 roundings. One
more pays for the oracle's own float64 and for the bound's. The last term covers products that are subnormal.

Where every product and sum is a whole multiple of one power of two, and none reaches 2^24 of it, nothing is ever
rounded: the result has to be equal bit for bit.

Of results of 8 and 16 bit `engine.verify.quantised` says what the bound means.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.mask.float_step import EXACT_STEPS, step_of
from engine.mask.mask import Mask
from engine.tasks.filtering import oracle
from engine.tasks.filtering.problem import Problem
from engine.verify.closeness import SMALLEST_SUBNORMAL, compare, relative_bound
from engine.verify.quantised import compare_quantised
from engine.verify.regions import Region, spread_regions
from engine.verify.verification import Verification

# The oracle makes about 0.25 G multiply-adds a second and each check needs two sums: 2.5e8 keeps it near 2 s.
AFFORDABLE_MULTIPLY_ADDS = 250_000_000
BAND_PIXELS = 1 << 18
BAND_MULTIPLY_ADDS = 100_000_000


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
    bound: np.ndarray = relative_bound(taps + 2) * magnitudes + (taps + 1) * SMALLEST_SUBNORMAL
    return bound


def is_exact_class(image: np.ndarray, mask: Mask, ghost_value: float) -> bool:
    """Return whether every order of summation must give the very same float32 result.

    True for integer samples where all products, their sums and the offset are whole multiples of one power of two
    (weights such as 3 or 1/16) and the largest possible sum stays below 2^24 of it.
    """
    if image.dtype.kind not in "iu":
        return False
    ghost, offset = float(np.float32(ghost_value)), float(np.float32(mask.offset))
    largest = max(float(image.max(initial=0)), abs(ghost))
    step = min(step_of(mask.weights32) * min(1.0, step_of(np.array([ghost]))), step_of(np.array([offset])))
    most = float(np.abs(mask.weights32.astype(np.float64)).sum()) * largest + abs(offset)
    return most == 0.0 or (step >= SMALLEST_SUBNORMAL and most / step < EXACT_STEPS)


def largest_magnitude(image: np.ndarray, problem: Problem) -> float:
    """Return the largest magnitude among the samples of a picture and its ghost value."""
    largest = max(abs(float(image.max())), abs(float(image.min())))
    return max(largest, abs(float(np.float32(problem.ghost_value))))


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
    return spread_regions(height, width, edge_rows, edge_columns, pixels, seed)


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
    added_error: float = 0.0,
) -> Verification:
    """Compare a result with the oracle.

    Parameters
    ----------
    result : ndarray of shape (H, W, C), of the problem's `result_dtype`
    image : ndarray of shape (H, W, C), of the problem's dtype
    mask : Mask
    problem : Problem
    seed : int
        Of the rectangles, where not everything can be checked.
    affordable : int
        Multiply-adds that the oracle may spend.
    checkpoint : callable of float
        Called with the fraction done; may raise to stop.
    added_error : float
        What the result may be off beyond the bound, as a part of the largest magnitude among samples and ghost value:
        `engine.variants.contract.Variant.added_error`. In the exact class nothing may be off all the same.

    Returns
    -------
    Verification
    """
    regions = regions_to_check(problem, seed, affordable)
    total = sum(region.pixels for region in regions)
    must_be_equal = is_exact_class(image, mask, problem.ghost_value)
    added = added_error * largest_magnitude(image, problem) if added_error else 0.0
    worst = _Worst()
    checked = 0
    for region in regions:
        for band in _bands(region, problem.taps * problem.channels):
            checkpoint(checked / total)
            _compare(result[band.slices], image, mask, problem, band, must_be_equal, added, worst)
            checked += band.pixels
    return Verification(
        passed=not worst.failure,
        max_error=worst.error,
        bound=worst.bound,
        checked_pixels=checked,
        total_pixels=problem.height * problem.width,
        exact=worst.exact,
        reason=worst.failure,
        in_steps=problem.is_quantised,
    )


def _compare(
    part: np.ndarray,
    image: np.ndarray,
    mask: Mask,
    problem: Problem,
    band: Region,
    must_be_equal: bool,
    added: float,
    worst: _Worst,
) -> None:
    wanted = oracle.correlate(image, mask, problem.border, problem.cval, band)

    def limits() -> tuple[np.ndarray, np.ndarray]:
        largest = oracle.magnitudes(image, mask, problem.border, problem.cval, band)
        bound = np.zeros_like(wanted) if must_be_equal else rounding_bound(largest, problem.taps) + added
        return largest, bound

    found = (compare_quantised if problem.is_quantised else compare)(part, wanted, limits)
    worst.exact = worst.exact and found.exact
    if found.max_error > worst.error:
        worst.error, worst.bound = found.max_error, found.bound
    if found.wrong is not None and not worst.failure:
        row, column, channel = found.wrong
        unit = " steps" if problem.is_quantised else ""
        worst.failure = (
            f"not verified: row {band.top + row}, column {band.left + column}, channel {channel} is "
            f"{part[row, column, channel]!s}, the oracle says {wanted[row, column, channel]:.9g} "
            f"(rounding explains at most {found.wrong_bound:.2g}{unit})"
        )
