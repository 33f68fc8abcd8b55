"""What a mask is made of: rank and factors, symmetries, sums; and the same in short sentences."""

import math
from dataclasses import dataclass

import numpy as np

from engine.mask.mask import Mask, Weights
from engine.mask.text_cells import count

# Rounding every weight to float32 changes it by at most this part of itself.
_FLOAT32_ROUNDING = 2.0**-24


@dataclass(frozen=True, eq=False)
class Analysis:
    """Facts about the weights of a mask.

    Attributes
    ----------
    rank : int
        Number of column-times-row products that add up to the mask, as far as float32 weights can tell.
    column, row : ndarray of shape (rows,) and (columns,), float64
        The one product that is nearest to the mask; equal to it within float32 rounding when `separable`.
    rank1_error : float
        What that product leaves over, as a part of the whole (Frobenius norms): 0 for a separable mask.
    is_symmetric_left_right, is_symmetric_up_down : bool
        The weights equal their mirror image.
    is_point_symmetric, is_point_antisymmetric : bool
        Turned by 180 degrees, the weights stay as they are, or change sign only.
    total, magnitude : float
        Sum of the weights, and of the weights without signs.
    zeros : int
        Number of cells that are 0.
    largest_cell : (int, int)
        Row and column of the weight that is largest without its sign, the first of equal ones.
    """

    rank: int
    column: Weights
    row: Weights
    rank1_error: float
    is_symmetric_left_right: bool
    is_symmetric_up_down: bool
    is_point_symmetric: bool
    is_point_antisymmetric: bool
    total: float
    magnitude: float
    zeros: int
    largest_cell: tuple[int, int]

    @property
    def separable(self) -> bool:
        """Whether one column times one row gives the mask, so that two short passes can replace it."""
        return self.rank <= 1


def analyse(mask: Mask) -> Analysis:
    """Return the facts about a mask; symmetries are those of the float32 weights that kernels get."""
    weights = mask.weights
    # Singular values of extreme weights would overflow or underflow when squared.
    largest_cell = divmod(int(np.argmax(np.abs(weights))), mask.columns)
    scale = abs(float(weights[largest_cell])) or 1.0
    left, singular, right = np.linalg.svd(weights / scale, full_matrices=False)
    norm = math.hypot(*singular)
    rank = int(np.count_nonzero(singular > _FLOAT32_ROUNDING * norm))
    exact = _whole_factors(weights, largest_cell) if rank == 1 else None
    column, row = exact or _svd_factors(left[:, 0], right[0], float(singular[0]) * scale)
    column.setflags(write=False)
    row.setflags(write=False)
    w = mask.weights32
    turned = w[::-1, ::-1]
    return Analysis(
        rank=rank,
        column=column,
        row=row,
        rank1_error=0.0 if rank <= 1 else math.hypot(*singular[1:]) / norm,
        is_symmetric_left_right=np.array_equal(w, w[:, ::-1]),
        is_symmetric_up_down=np.array_equal(w, w[::-1]),
        is_point_symmetric=np.array_equal(w, turned),
        is_point_antisymmetric=np.array_equal(w, -turned),
        total=mask.total,
        magnitude=mask.magnitude,
        zeros=int(np.count_nonzero(weights == 0.0)),
        largest_cell=largest_cell,
    )


def describe(mask: Mask) -> tuple[str, ...]:
    """Return what is worth knowing about a mask, one short sentence each."""
    facts = analyse(mask)
    return (
        _about_rank(mask, facts),
        _about_sum(mask, facts),
        _about_flip(mask, facts),
        _about_cells(mask, facts),
    )


def _about_rank(mask: Mask, facts: Analysis) -> str:
    if facts.rank == 0:
        return "Every weight is 0: the result is the offset everywhere."
    if mask.taps == 1:
        return "A single cell: every pixel is multiplied by one number."
    if min(mask.shape) == 1:
        return f"One-dimensional: {count(mask.taps, 'multiplication')} a pixel, along one line."
    if facts.separable:
        return (
            f"Separable: a column of {mask.rows} times a row of {mask.columns} gives it "
            f"({mask.rows + mask.columns} instead of {mask.taps} multiplications a pixel)."
        )
    return (
        f"Not separable: its rank is {facts.rank}, and the nearest column times row leaves "
        f"{_percent(facts.rank1_error)} of it over."
    )


def _about_sum(mask: Mask, facts: Analysis) -> str:
    if facts.magnitude == 0.0 or abs(facts.total) <= mask.taps * _FLOAT32_ROUNDING * facts.magnitude:
        return f"The weights add up to 0: an even area becomes {mask.offset:g}, only changes stay."
    if math.isclose(facts.total, 1.0, rel_tol=_FLOAT32_ROUNDING * mask.taps):
        kept = "keeps its brightness" if mask.offset == 0.0 else f"is shifted by {mask.offset:g}"
        return f"The weights add up to 1: an even area {kept}."
    shifted = "" if mask.offset == 0.0 else f", and {mask.offset:g} is added"
    return f"The weights add up to {facts.total:.6g}: an even area is multiplied by that{shifted}."


def _about_flip(mask: Mask, facts: Analysis) -> str:
    is_centred = mask.flipped().anchor == mask.anchor
    if facts.is_point_symmetric and is_centred:
        return "Turned by 180 degrees it stays the same: correlation and convolution give the same picture."
    if facts.is_point_antisymmetric and is_centred:
        return "Turned by 180 degrees it changes its sign: so does the picture when correlation becomes convolution."
    return "Turned by 180 degrees it is another mask: correlation and convolution give different pictures."


def _about_cells(mask: Mask, facts: Analysis) -> str:
    row, column = facts.largest_cell
    largest = f"the largest weight, {mask.weights[row, column]:.6g}, is in row {row + 1}, column {column + 1}"
    if facts.zeros == 0:
        return f"None of its {count(mask.taps, 'cell')} is 0; {largest}."
    return (
        f"{facts.zeros} of its {count(mask.taps, 'cell')} {'is' if facts.zeros == 1 else 'are'} 0; {largest}."
    )


def _percent(part: float) -> str:
    return f"{part:.2g} times" if part > 1.0 else f"{100.0 * part:.2g} %"


def _whole_factors(weights: Weights, pivot: tuple[int, int]) -> tuple[Weights, Weights] | None:
    """Return the factors with a column of small whole numbers (Sobel's 1 2 1), or None when there are none."""
    column = weights[:, pivot[1]] / weights[pivot]
    smallest = np.abs(column[column != 0.0]).min()
    # Larger whole numbers than 2^24 are not exact in float32, and nothing that people would call nice.
    if smallest < _FLOAT32_ROUNDING:
        return None
    whole: Weights = np.rint(column / smallest)
    row: Weights = weights[pivot[0]] * smallest
    with np.errstate(over="ignore"):
        is_exact = np.array_equal(np.outer(whole, row).astype(np.float32), weights.astype(np.float32))
    return (whole, row) if is_exact else None


def _svd_factors(left: Weights, right: Weights, singular: float) -> tuple[Weights, Weights]:
    """Return the factors with the same norm each, the column's largest cell positive."""
    sign = -1.0 if left[np.argmax(np.abs(left))] < 0.0 else 1.0
    share = sign * math.sqrt(singular)
    return left * share, right * share
