"""Comparing a result with the oracle, element by element: equal, within rounding, wrong, or unproven.

A bound proves nothing where a result without the picture would lie within it too. So an element that is not
the oracle's, rounded to the type, is unproven where its bound exceeds

- the sum of magnitudes behind it: a transform's bound, which follows the largest value of the picture, does
  where that is 1e20 and the values here are 25;
- or the range of the values near it: of the oracle's, and of the picture's samples that they depend on (of
  scores and of products, which are no pictures: and a tenth of its own value). Where the values do not vary,
  their range says nothing: of 0.3 everywhere an edge filter in float32 makes 3e-8 for 0, within 3e-6. There
  the largest of these samples takes its place.

An element that ends as infinity because sums on the way may is unproven as well.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from engine.errors import VerificationFailed
from engine.image.convert import to_depth

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_SUBNORMAL = 2.0**-149
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)

# Values vary in a tile where half of them lie further apart than this part of the bound; the oracle's own
# rounding is 2^-29 of that of float32.
_FLAT = 2.0**-20


class Near(NamedTuple):
    """What a bound is held against."""

    sides: tuple[int, int] = (32, 32)  # of the tiles in which elements are near one another, at most
    # The range and the largest magnitude of the picture's samples that a tile of the elements depends on.
    samples: Callable[[slice, slice], tuple[float, float]] | None = None
    hidden: Callable[[], float] = lambda: 0.0  # bounds up to this hide nothing of the picture
    has_sums: bool = True  # whether the sums of magnitudes are those behind each element


ALONE = Near()


@dataclass(frozen=True, slots=True)
class Verification:
    """How a result compares with the float64 oracle."""

    passed: bool  # every checked sample lies within its own rounding bound, and each bound proves something
    # Largest |result - oracle| among the checked samples, and the rounding bound at that very sample.
    max_error: float
    bound: float
    # The whole picture where that is affordable; else the four edges and a grid of pixels.
    checked_pixels: int
    total_pixels: int
    exact: bool  # whether every checked sample equals the oracle bit for bit, rounded to the result's type
    reason: str = ""  # why it is not verified, in words; empty if it passed
    in_steps: bool = False  # whether `max_error` and `bound` are steps of a result of 8 or 16 bit
    # Samples on both sides of a jump, such as a threshold, where rounding may decide: both values are right.
    undecided: int = 0
    chosen: str = ""  # how the checked ones were chosen, in words; empty where all were checked
    wrong_samples: int = 0  # checked samples that rounding does not explain
    unproven_samples: int = 0  # checked samples whose rounding bound proves nothing

    @property
    def is_unproven(self) -> bool:
        """Whether nothing is known to be wrong, but the bound proves nothing."""
        return not self.passed and not self.wrong_samples and self.unproven_samples > 0

    def joined(self, other: "Verification") -> "Verification":
        """Return what is known of two parts of a result together."""
        worst = other if other.max_error > self.max_error else self
        # A wrong sample says more than one that is not proven.
        telling = other if other.wrong_samples and not self.wrong_samples else self
        return Verification(
            passed=self.passed and other.passed,
            max_error=float(worst.max_error),
            bound=float(worst.bound),
            checked_pixels=self.checked_pixels + other.checked_pixels,
            total_pixels=self.total_pixels + other.total_pixels,
            exact=bool(self.exact and other.exact),
            reason=telling.reason or other.reason,
            in_steps=other.in_steps,
            undecided=self.undecided + other.undecided,
            chosen=other.chosen or self.chosen,
            wrong_samples=self.wrong_samples + other.wrong_samples,
            unproven_samples=self.unproven_samples + other.unproven_samples,
        )

    def of_pixels(self, checked: int, total: int, chosen: str = "") -> "Verification":
        """Return what is known where so many pixels were checked of so many, and how they were chosen."""
        chosen = chosen if checked < total else ""
        return replace(self, checked_pixels=checked, total_pixels=total, chosen=chosen)

    def refuse_wrong(self, what: str) -> None:
        """Raise VerificationFailed where what is named has wrong samples."""
        if not self.passed and not self.is_unproven:
            raise VerificationFailed(what, self.reason, "Choose another variant.")

    def sentence(self, unit: str = "pixel") -> str:
        """Return the verification in words for people, where "pixel" or "element" is what was checked."""
        is_whole = self.checked_pixels == self.total_pixels
        by = f" ({self.chosen})" if self.chosen else ""
        checked = f"{self.checked_pixels:,} of {self.total_pixels:,} {unit}s were checked{by}"
        if not self.passed:
            return self.reason if is_whole else f"{self.reason}; {checked}"
        share = f"every {unit}" if is_whole else f"{checked}, and all"
        plural = "sample is" if self.undecided == 1 else "samples are"
        on_jumps = f"; {self.undecided:,} {plural} within rounding of a jump" if self.undecided else ""
        errors = f"max error {self.max_error:.2g}, rounding bound {self.bound:.2g}"
        if self.in_steps:
            errors = f"max error {self.max_error:.0f} step{'' if self.max_error == 1.0 else 's'}"
        agreement = f"{'' if is_whole else 'are '}within rounding, {errors}"
        if self.exact:
            reference = "rounded float64 reference" if self.in_steps else "float64 reference"
            agreement = f"{'matches' if is_whole else 'match'} the {reference} exactly"
        return f"verified: {share} {agreement}{on_jumps}"


NOTHING = Verification(passed=True, max_error=0.0, bound=0.0, checked_pixels=0, total_pixels=0, exact=True)
"""Of no part of a result, to begin with."""


Limits = Callable[[], tuple[np.ndarray, np.ndarray]]
"""The sums of magnitudes and the bounds of |result - oracle| of a float32 sum, float64."""
Place = Callable[[tuple[int, ...]], str]


def relative_bound(roundings: int) -> float:
    """Return gamma = k u / (1 - k u), u = 2^-24: the relative bound of k roundings.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1.
    """
    return roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF)


def compare(
    result: np.ndarray, wanted: np.ndarray, limits: Limits, place: Place = str, near: Near = ALONE
) -> Verification:
    """Compare a part, float32, with the oracle's, no pixels counted; `limits` is called where it differs."""
    with np.errstate(over="ignore"):
        rounded = wanted.astype(np.float32)
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    if same.all():
        return NOTHING
    largest, bound = limits()
    with np.errstate(invalid="ignore"):
        error = np.abs(result.astype(np.float64) - wanted)
        fine = same | (error <= bound)
    # What may pass the largest float32 on the way may end as infinity or, from two infinities, as NaN.
    lost = None if fine.all() else ~fine & _may_overflow(wanted, largest, bound) & ~np.isfinite(result)
    unproven = _says_nothing(wanted, largest, bound, fine & ~same, near)
    return _verdict(result, wanted, place, error, bound, fine, unproven, lost)


def compare_quantised(
    result: np.ndarray, wanted: np.ndarray, limits: Limits, place: Place = str, near: Near = ALONE
) -> Verification:
    """Compare a result of 8 or 16 bit with the oracle's in float64, neither saturated nor rounded.

    With r the oracle's result and b the bound of a float32 sum, the sum lies within r - b and r + b.
    Saturating and rounding half to even keep the order, so the sample y is right exactly if quantise(r - b)
    <= y <= quantise(r + b). Where b is 0 that is one number.
    """
    nearest = to_depth(wanted, result.dtype)
    same = result == nearest
    if same.all():
        return replace(NOTHING, in_steps=True)
    largest, bound = limits()
    low, high = to_depth(wanted - bound, result.dtype), to_depth(wanted + bound, result.dtype)
    # What may pass the largest float32 on the way may end at either end of the range.
    white = int(np.iinfo(result.dtype).max)
    fine = (low <= result) & (result <= high)
    lost = ~fine & _may_overflow(wanted, largest, bound) & ((result == 0) | (result == white))
    steps = np.abs(result.astype(np.int64) - nearest)
    allowed = np.maximum(high.astype(np.int64) - nearest, nearest - low.astype(np.int64))
    # One step is rounding itself. Values that do not vary are proven to a tenth of white.
    tenth = np.full(result.shape, white / 10)
    nearest_values = nearest.astype(np.float64)
    unproven = _says_nothing(nearest_values, tenth, allowed, fine & ~(same | (allowed <= 1)), near)
    verdict = _verdict(result, wanted, place, steps, allowed, fine, unproven, lost, " steps")
    return replace(verdict, in_steps=True)


def _may_overflow(wanted: np.ndarray, largest: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return where a partial sum may pass the largest float32; a sum with NaN stays NaN."""
    passes: np.ndarray = (largest + bound > LARGEST_FLOAT32) & ~np.isnan(wanted)
    return passes


def _says_nothing(
    wanted: np.ndarray, largest: np.ndarray, bound: np.ndarray, differs: np.ndarray, near: Near
) -> np.ndarray | None:
    """Return where elements that differ within a bound have one that proves nothing; None if nowhere."""
    # Tiles of nearly the same size.
    sides = tuple(
        -(-length // -(-length // side)) for length, side in zip(wanted.shape, near.sides, strict=False)
    )
    above = differs & (bound > largest) if near.has_sums else np.zeros_like(differs)
    is_varied = float(bound.max()) <= _least_range(wanted, sides)
    if is_varied and not above.any():
        return None
    if near.samples is None:
        with np.errstate(invalid="ignore"):
            differs = differs & ~(bound <= np.abs(wanted) / 10)
    if is_varied or not differs.any():
        return above & ~(bound <= near.hidden()) if above.any() else None
    values, bounds, wide = (_tiles(one, sides) for one in (wanted, bound, differs))
    finite = np.isfinite(values)
    low, high = (
        # First along whole rows, which is five times as fast.
        reduce(reduce(np.where(finite, values, of_none), axis=1, keepdims=True), axis=3, keepdims=True)
        for reduce, of_none in ((np.min, np.inf), (np.max, -np.inf))
    )
    wide = wide & ~(bounds <= np.maximum(high - low, 0.0))
    # Channels by themselves.
    for row, column, channel in np.argwhere(wide.any(axis=(1, 3))):
        at = (row, slice(None), column, slice(None), channel)
        known = values[at][finite[at]]
        first, third = np.quantile(known, (0.25, 0.75)) if known.size else (0.0, 0.0)
        range_, size = 0.0, np.inf
        if near.samples is not None:
            down, across = sides
            rows = slice(row * down, (row + 1) * down)
            range_, size = near.samples(rows, slice(column * across, (column + 1) * across))
        is_flat = (third - first <= _FLAT * bounds[at]) & (bounds[at] <= size)
        wide[at] &= ~is_flat & ~(bounds[at] <= range_)
    down, _, across, _, _ = wide.shape
    marked = wide.reshape(down * sides[0], across * sides[1], -1)[: len(wanted), : wanted.shape[1]]
    above |= marked.reshape(wanted.shape)
    return above & ~(bound <= near.hidden()) if above.any() else None


def _least_range(wanted: np.ndarray, sides: tuple[int, ...]) -> float:
    """Return what the values of each tile vary by at least, by 16 of each; 0 where one is not finite."""
    down, across = (
        np.minimum(np.add.outer(np.arange(0, length, side), np.arange(4) * side // 4), length - 1)
        for length, side in zip(wanted.shape, sides, strict=False)
    )
    seen = wanted[np.ix_(down.reshape(-1), across.reshape(-1))].reshape(len(down), 4, len(across), 4, -1)
    if not np.isfinite(seen).all():
        return 0.0
    return float((seen.max(axis=(1, 3)) - seen.min(axis=(1, 3))).min())


def _tiles(array: np.ndarray, sides: tuple[int, ...]) -> np.ndarray:
    """Return (rows, columns[, channels]) as (n, rows, m, columns, channels): n x m tiles of these sides."""
    rows, columns, *_ = array.shape
    array = array.reshape(rows, columns, -1)
    more = -rows % sides[0], -columns % sides[1]
    if any(more):
        array = np.pad(array, ((0, more[0]), (0, more[1]), (0, 0)), mode="edge")
    down, across, channels = array.shape
    return array.reshape(down // sides[0], sides[0], across // sides[1], sides[1], channels)


def _verdict(
    result: np.ndarray,
    wanted: np.ndarray,
    place: Place,
    error: np.ndarray,
    bound: np.ndarray,
    fine: np.ndarray,
    unproven: np.ndarray | None,
    lost: np.ndarray | None,
    unit: str = "",
) -> Verification:
    """Return what is known of a part: `fine` lies within its bound, `lost` may have passed the range."""
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    if not np.isfinite(error[worst]):
        error = np.where(np.isfinite(error), error, 0.0)
        worst = np.unravel_index(int(np.argmax(error)), error.shape)
    if lost is not None:
        fine, unproven = fine | lost, lost if unproven is None else unproven | lost
        bound = np.where(lost, np.inf, bound)

    def first(chosen: np.ndarray) -> tuple[str, float]:
        at = tuple(np.argwhere(chosen)[0].tolist())
        return f"{place(at)} is {result[at]!s}, the float64 reference is {wanted[at]:.9g}", float(bound[at])

    wrong_samples = int(np.count_nonzero(~fine))
    unproven_samples = 0 if unproven is None else int(np.count_nonzero(unproven))
    reason = ""
    if wrong_samples:
        compared, most = first(~fine)
        reason = f"not verified: {compared} (rounding explains at most {most:.2g}{unit})"
    elif unproven is not None and unproven_samples:
        compared, most = first(unproven)
        why = f"rounding explains {most:.2g}{unit}, more than the values near it vary"
        if math.isinf(most):
            why = "sums on the way may pass the range of float32"
        reason = f"not verified: nothing is proven where {compared}, and {why}"
    return replace(
        NOTHING,
        passed=not reason,
        max_error=float(error[worst]),
        bound=float(bound[worst]),
        exact=False,
        reason=reason,
        wrong_samples=wrong_samples,
        unproven_samples=unproven_samples,
    )
