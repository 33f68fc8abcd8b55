"""Verification: how a result compares with the float64 oracle, and the sentence that says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from engine.verify.checked_samples import CheckedSamples
from engine.verify.closeness import compare, compare_quantised
from engine.verify.regions import Region


@dataclass(frozen=True, slots=True)
class Verification:
    """How a result compares with the float64 oracle."""

    passed: bool  # every checked sample lies within its own rounding bound
    # Largest |result - oracle| among the checked samples, and the rounding bound at that very sample.
    max_error: float
    bound: float
    # The whole picture where that is affordable; else the four edges and a grid of pixels.
    checked_pixels: int
    total_pixels: int
    exact: bool  # whether every checked sample equals the oracle bit for bit, rounded to the result's type
    reason: str = ""  # where it failed, in words; empty if it passed
    in_steps: bool = False  # whether `max_error` and `bound` are steps of a result of 8 or 16 bit
    # Samples on both sides of a jump, such as a threshold, where rounding may decide: both values are right.
    undecided: int = 0

    def sentence(self, unit: str = "pixel") -> str:
        """Return the verification in words for people, where "pixel" or "element" is what was checked."""
        if not self.passed:
            return self.reason
        plural = "sample is" if self.undecided == 1 else "samples are"
        on_jumps = f"; {self.undecided:,} {plural} within rounding of a jump" if self.undecided else ""
        return f"{self._agreement(unit)}{on_jumps}"

    def _agreement(self, unit: str) -> str:
        is_whole = self.checked_pixels == self.total_pixels
        share = f"every {unit}" if is_whole else f"{self.checked_pixels:,} of {self.total_pixels:,} {unit}s"
        if self.exact:
            verb = "matches" if is_whole else "match"
            reference = "rounded float64 reference" if self.in_steps else "float64 reference"
            return f"verified: {share} {verb} the {reference} exactly"
        if self.in_steps:
            plural = "" if self.max_error == 1.0 else "s"
            return f"verified: {share} within rounding, max error {self.max_error:.0f} step{plural}"
        errors = f"max error {self.max_error:.2g}, rounding bound {self.bound:.2g}"
        return f"verified: {share} within rounding, {errors}"


def verify_regions(
    result: np.ndarray | CheckedSamples,
    regions: Sequence[Region],
    band_pixels: int,
    wanted: Callable[[Region], np.ndarray],
    limits: Callable[[Region], tuple[np.ndarray, np.ndarray]],
    checkpoint: Callable[[float], None],
) -> Verification:
    """Compare regions of a result with the oracle.

    Parameters
    ----------
    result : ndarray of shape (rows, columns[, channels]), or the samples of one that are checked
        float32, or uint8 or uint16 with values saturated and rounded half to even.
    band_pixels : int
        Pixels compared at once: float64 copies stay small, and a cancellation is noticed soon.
    wanted : callable of Region -> ndarray, float64
        The oracle.
    limits : callable of Region -> (ndarray, ndarray)
        The sums of magnitudes and the rounding bounds, called only where something differs.
    checkpoint : callable of float
        Called with the fraction done; may raise to stop.
    """
    in_steps = result.dtype.kind != "f"
    total = sum(region.pixels for region in regions)
    exact, error, bound, reason, checked = True, 0.0, 0.0, "", 0
    for band in (band for region in regions for band in region.bands(band_pixels)):
        checkpoint(checked / total)
        part, oracle = result[band.slices], wanted(band)
        found = (compare_quantised if in_steps else compare)(part, oracle, partial(limits, band))
        exact = exact and found.exact
        if found.max_error > error:
            error, bound = found.max_error, found.bound
        if found.wrong is not None and not reason:
            row, column, *channel = found.wrong
            pixel = band.top + row * band.step, band.left + column * band.step
            at = [f"row {pixel[0]}", f"column {pixel[1]}", *(f"channel {c}" for c in channel)]
            reason = (
                f"not verified: {', '.join(at)} is {part[found.wrong]!s}, "
                f"the float64 reference is {oracle[found.wrong]:.9g} "
                f"(rounding explains at most {found.wrong_bound:.2g}{' steps' if in_steps else ''})"
            )
        checked += band.pixels
    height, width = result.shape[:2]
    return Verification(not reason, error, bound, checked, height * width, exact, reason, in_steps)
