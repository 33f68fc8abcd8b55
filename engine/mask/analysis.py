"""What a mask is made of: rank and factors, symmetries, sums; and the same in short sentences."""

import math
from dataclasses import dataclass

import numpy as np

from engine.mask.factors import SMALLEST_NORMAL, Factors, exact_factors, factor
from engine.mask.mask import Mask, Weights
from engine.mask.text_cells import count

# Rounding every weight to float32 changes it by at most this part of itself.
_FLOAT32_ROUNDING = 2.0**-24
# Larger whole numbers are not exact in float32, and nothing that people would call nice.
_LARGEST_WHOLE = 2.0**24


@dataclass(frozen=True, eq=False)
class Analysis:
    """Facts about the weights of a mask.

    Attributes
    ----------
    separable : bool
        Whether one column times one row gives every float32 weight within rounding, so that two short passes
        can replace the mask.
    rank : int
        Number of column-times-row products that add up to the mask, within the rounding of its largest
        weights. Separable masks have rank 1 (all zeros: 0); a mask of rank 1 that is not separable is wrong
        in small weights.
    column, row : ndarray of shape (rows,) and (columns,), float64
        That product, of whole numbers in the column where there are such; else the one nearest to the mask.
    rank1_error : float
        What it leaves over, as a part of the whole (Frobenius norms): 0 for a separable mask.
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

    separable: bool
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


def analyse(mask: Mask) -> Analysis:
    """Return the facts about a mask; factors and symmetries are those of the float32 weights that kernels get."""
    weights, w = mask.weights, mask.weights32
    largest_cell = divmod(int(np.argmax(np.abs(weights))), mask.columns)
    factors = factor(mask)
    product = _product_of(mask, factors) if factors.separable else _nearest_product(weights)
    product.column.setflags(write=False)
    product.row.setflags(write=False)
    turned = w[::-1, ::-1]
    return Analysis(
        separable=factors.separable,
        rank=product.rank,
        column=product.column,
        row=product.row,
        rank1_error=product.error,
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
        in_float32 = " in float32" if facts.magnitude else ""
        return f"Every weight is 0{in_float32}: the result is the offset everywhere."
    if mask.taps == 1:
        return "A single cell: every pixel is multiplied by one number."
    if min(mask.shape) == 1:
        return f"One-dimensional: {count(mask.taps, 'multiplication')} per pixel, along one line."
    if facts.separable:
        return (
            f"Separable: a column of {mask.rows} times a row of {mask.columns} gives it "
            f"({mask.rows + mask.columns} instead of {mask.taps} multiplications per pixel)."
        )
    return why_not_separable(mask, facts)


def why_not_separable(mask: Mask, facts: Analysis) -> str:
    """Return, for a mask that is not, what keeps one column times one row from being the mask: its rank, or a weight."""
    left_over = f"the best rank-1 approximation has {_percent(facts.rank1_error)} error"
    if facts.rank > 1:
        return f"Not separable: its rank is {facts.rank}, and {left_over}."
    factors = factor(mask)
    row, column = factors.worst_cell
    weight = float(mask.weights32[row, column])
    given = float(factors.column[row]) * float(factors.row[column])
    digits = next((digits for digits in (4, 9) if f"{weight:.{digits}g}" != f"{given:.{digits}g}"), 17)
    because = ""
    if abs(weight) < SMALLEST_NORMAL:
        because = " Float32 loses digits below 1.2e-38; a smaller mask may have no such weights."
    elif factors.allowed == 0.0:
        because = " Weights of so few digits must be given exactly, because their sums are exact."
    return (
        f"Not separable in float32: its rank is 1 only within the rounding of its largest weights ({left_over}); the "
        f"weight in row {row + 1}, column {column + 1} is {weight:.{digits}g}, and column times row gives "
        f"{given:.{digits}g}.{because}"
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
        return "Unchanged by a 180° turn: correlation and convolution agree."
    if facts.is_point_antisymmetric and is_centred:
        return "A 180° turn flips its sign: convolution gives the negated result."
    return "Changed by a 180° turn: correlation and convolution differ."


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


@dataclass(frozen=True, eq=False)
class _Product:
    """One column times one row, and what it is to the mask."""

    rank: int
    column: Weights
    row: Weights
    error: float


def _product_of(mask: Mask, factors: Factors) -> _Product:
    """Return the factors of a separable mask, of whole numbers in the column (Sobel's 1 2 1) where there are such."""
    if not mask.weights32.any():
        return _Product(0, factors.column.astype(np.float64), factors.row.astype(np.float64), 0.0)
    whole = exact_factors(mask.weights32.astype(np.float64))
    if whole is not None and np.abs(whole[0]).max() < _LARGEST_WHOLE:
        return _Product(1, *whole, 0.0)
    return _Product(1, factors.column.astype(np.float64), factors.row.astype(np.float64), 0.0)


def _nearest_product(weights: Weights) -> _Product:
    """Return the product that is nearest to the mask by its singular values, with the same norm in column and row."""
    # Singular values of extreme weights would overflow or underflow when squared.
    scale = float(np.abs(weights).max())
    left, singular, right = np.linalg.svd(weights / scale, full_matrices=False)
    norm = math.hypot(*singular)
    column, row = left[:, 0], right[0]
    sign = -1.0 if column[np.argmax(np.abs(column))] < 0.0 else 1.0
    share = sign * math.sqrt(float(singular[0]) * scale)
    return _Product(
        rank=int(np.count_nonzero(singular > _FLOAT32_ROUNDING * norm)),
        column=column * share,
        row=row * share,
        error=math.hypot(*singular[1:]) / norm,
    )
