"""What is known of a mask: separability, rank, symmetry, frequencies and costs; facts in short sentences."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.geometry.border import Border
from engine.mask.factors import SMALLEST_NORMAL, UNIT_ROUNDOFF, factor, split
from engine.mask.mask import MAX_LINE, Mask
from engine.mask.typed import count


@dataclass(frozen=True)
class Analysis:
    """Facts about the weights of a mask."""

    separable: bool  # one column times one row gives every float32 weight within rounding: two short passes
    # The number of such products that add up to the mask, within the rounding of its largest weights (0 if
    # all are 0): a mask of rank 1 that is not separable is wrong in small weights.
    rank: int
    rank1_error: float  # what the best rank-1 approximation leaves out, of the whole (Frobenius norms)
    is_point_symmetric: bool  # a 180° turn leaves the weights as they are
    is_point_antisymmetric: bool  # it flips their signs


def analyse(mask: Mask) -> Analysis:
    """Return the facts about a mask, from the float32 weights that kernels get."""
    weights, separable = mask.weights32, factor(mask).separable
    rank, error = int(weights.any()), 0.0
    if not separable:
        # Singular values of extreme weights would overflow or underflow when squared.
        scaled = mask.weights / float(np.abs(mask.weights).max())
        singular = np.linalg.svd(scaled, compute_uv=False)
        norm = math.hypot(*singular)
        rank, error = int(np.count_nonzero(singular > UNIT_ROUNDOFF * norm)), math.hypot(*singular[1:]) / norm
    turned = weights[::-1, ::-1]
    return Analysis(separable, rank, error, np.array_equal(weights, turned), np.array_equal(weights, -turned))


class MaskFact(NamedTuple):
    """What is worth knowing about a mask, in a few words, and what they mean."""

    short: str
    detail: str = ""

    @property
    def sentence(self) -> str:
        """Both in one sentence."""
        return f"{self.short}: {self.detail}." if self.detail else f"{self.short}."


def describe(mask: Mask) -> tuple[MaskFact, ...]:
    """Return what is worth knowing about a mask."""
    facts, is_centred = analyse(mask), mask.flipped().anchor == mask.anchor
    turn = MaskFact("Changed by a 180° turn", "correlation and convolution differ")
    if is_centred and facts.is_point_symmetric:
        turn = MaskFact("Unchanged by a 180° turn", "correlation and convolution agree")
    elif is_centred and facts.is_point_antisymmetric:
        turn = MaskFact("A 180° turn flips its sign", "convolution gives the negated result")
    zeros = int(np.count_nonzero(mask.weights == 0.0))
    row, column = divmod(int(np.argmax(np.abs(mask.weights))), mask.columns)
    cells = MaskFact(
        f"{zeros or 'None'} of its {count(mask.taps, 'cell')} {'is' if zeros in (0, 1) else 'are'} 0; the "
        f"largest weight, {mask.weights[row, column]:.6g}, is in row {row + 1}, column {column + 1}"
    )
    return _about_rank(mask, facts), describe_sum(mask), turn, cells


def _about_rank(mask: Mask, facts: Analysis) -> MaskFact:
    if facts.rank == 0:
        in_float32 = " in float32" if mask.magnitude else ""
        return MaskFact(f"Every weight is 0{in_float32}", "the result is the offset everywhere")
    if mask.taps == 1:
        return MaskFact("A single cell", "every pixel is multiplied by one number")
    if min(mask.shape) == 1:
        return MaskFact("One-dimensional", f"{count(mask.taps, 'multiplication')} per pixel, along one line")
    if facts.separable:
        of = f"the product of a column of {mask.rows} and a row of {mask.columns}"
        saved = f"{mask.rows + mask.columns} instead of {mask.taps} multiplications per pixel"
        return MaskFact("Separable", f"{of} ({saved})")
    return why_not_separable(mask, facts)


def why_not_separable(mask: Mask, facts: Analysis) -> MaskFact:
    """Return why a mask is not the product of one column and one row: its rank, or one of its weights."""
    error = f"{facts.rank1_error:.2g} times" if facts.rank1_error > 1 else f"{100 * facts.rank1_error:.2g} %"
    left_over = f"the best rank-1 approximation has {error} error"
    if facts.rank > 1:
        return MaskFact("Not separable", f"its rank is {facts.rank}, and {left_over}")
    factors = factor(mask)
    row, column = factors.worst_cell
    weight = float(mask.weights32[row, column])
    product = float(factors.column[row]) * float(factors.row[column])
    digits = next((digits for digits in (4, 9) if f"{weight:.{digits}g}" != f"{product:.{digits}g}"), 17)
    why = (
        f"its rank is 1 only within the rounding of its largest weights ({left_over}); the weight in row "
        f"{row + 1}, column {column + 1} is {weight:.{digits}g}, and column times row gives "
        f"{product:.{digits}g}"
    )
    if abs(weight) < SMALLEST_NORMAL:
        why += ". Float32 loses digits below 1.2e-38; a smaller mask may have no such weights"
    elif factors.allowed == 0.0:
        why += ". Weights with so few digits must be exact, because their sums are exact"
    return MaskFact("Not separable in float32", why)


def describe_sum(mask: Mask) -> MaskFact:
    """Return what the sum of the weights is, 0 and 1 within rounding, and what becomes of a uniform area."""
    if abs(mask.total) <= mask.taps * UNIT_ROUNDOFF * mask.magnitude:
        return MaskFact(
            "The weights add up to 0", f"a uniform area becomes {mask.offset:g}, only changes stay"
        )
    if math.isclose(mask.total, 1.0, rel_tol=UNIT_ROUNDOFF * mask.taps):
        kept = "keeps its brightness" if mask.offset == 0.0 else f"is shifted by {mask.offset:g}"
        return MaskFact("The weights add up to 1", f"a uniform area {kept}")
    shifted = "" if mask.offset == 0.0 else f", and {mask.offset:g} is added"
    return MaskFact(weights_sum(mask), f"a uniform area is multiplied by that{shifted}")


def weights_sum(mask: Mask) -> str:
    """Return the sum of the weights in words."""
    return f"The weights add up to {mask.total:.6g}"


POINTS = 128
"""Frequencies along each side: more than the longest mask has cells, so that none is left out."""
assert POINTS > MAX_LINE


class FrequencyResponse(NamedTuple):
    """What a mask does to each frequency: the magnitude of its discrete-space Fourier transform.

        H(u, v) = sum over m, n of weights[m, n] * exp(-2 pi i (u m + v n)),   -1/2 <= u, v < 1/2

    in cycles per pixel. A stripe pattern of that frequency leaves a linear filter |H| times as strong
    (A. Oppenheim and R. Schafer, "Discrete-Time Signal Processing", the chapter on frequency responses). At 0
    it is the sum of the weights.
    """

    magnitude: npt.NDArray[np.float64]  # 0 is at the middle, [POINTS // 2, POINTS // 2], and rows go down
    gain_at_zero: float  # with the sign of the sum
    largest: float
    strongest: tuple[float, float]  # frequencies (across, down) of the largest, of equal ones the lowest


def frequency_response(mask: Mask) -> FrequencyResponse:
    """Return the frequency response of a mask at `POINTS` x `POINTS` frequencies."""
    spectrum = np.fft.fftshift(np.abs(np.fft.fft2(mask.weights, (POINTS, POINTS))))
    largest = float(spectrum.max())
    frequencies = np.arange(-POINTS // 2, POINTS // 2) / POINTS
    # Magnitudes of opposite frequencies are equal; rounding may not choose between them.
    near = np.argwhere(spectrum >= largest * (1 - 1e-9))
    row, column = min(near.tolist(), key=lambda at: (float(np.hypot(*frequencies[at])), at[0], -at[1]))
    strongest = abs(float(frequencies[column])), abs(float(frequencies[row]))
    return FrequencyResponse(spectrum, mask.total, largest, strongest)


@dataclass(frozen=True)
class Examination:
    """What is known of a mask: facts, singular values (largest first), its response, and its two factors."""

    mask: Mask
    facts: Analysis
    singular_values: tuple[float, ...]
    response: FrequencyResponse
    factors: tuple[Mask, Mask] | None


def examine(mask: Mask) -> Examination:
    """Return what is known of a mask; of the largest it takes up to 0.2 s."""
    values = np.linalg.svd(mask.weights, compute_uv=False)
    return Examination(mask, analyse(mask), tuple(map(float, values)), frequency_response(mask), split(mask))


def reach(mask: Mask) -> tuple[int, int, int, int]:
    """Return how many cells lie above, below, left and right of the pixel."""
    row, column = mask.anchor
    return row, mask.rows - 1 - row, column, mask.columns - 1 - column


def pixels_at_borders(mask: Mask, height: int, width: int) -> int:
    """Return how many pixels of a picture read cells outside it."""
    return height * width - max(0, height - mask.rows + 1) * max(0, width - mask.columns + 1)


def kept_in_a_corner(mask: Mask, border: Border) -> float | None:
    """Return what is left of an even area in the top left corner, of 1 within; None where all of it is."""
    # These have values from outside the picture; a constant counts as 0.
    if border not in (Border.ZERO, Border.CONSTANT) or abs(mask.total) <= 1e-9 * mask.magnitude:
        return None
    row, column = mask.anchor
    return float(mask.weights[row:, column:].sum()) / mask.total
