"""Factors of a mask: one column and one row whose product it is, so that two short passes can replace it.

    weights[m, n] = column[m] * row[n]

The product has to give **every float32 weight** to a few roundings of *that weight*,
and 0 exactly where a weight is 0. The rank alone asks less: it is judged by the largest weights, and the
vectors of a singular value decomposition have an error of 2^-53 of the largest weight in every cell, which is
all there is in the far tail of a Gaussian. A tail that is wrong is seen where a dark picture has one bright
pixel, and 0 x infinity is NaN, but 10^-50 x infinity is not.

Exact factors
    If the mask is exactly a product (Sobel, box, binomial, whole numbers over a power of two), the column is
    made of the smallest whole numbers: a column of the mask, divided by its greatest common divisor. The row
    follows by division, and both are float32 numbers exactly. Then every sum in the exact class of
    `engine.work.filtering.oracle` is exact in both passes too: with S = sum |column||row||x|, a sum of
    the first pass is a whole multiple of the row's step and at most S divided by a whole number, so it has no
    more bits than the direct sum.
Rounded factors
    Else each factor is the geometric mean of the mask along the other axis (least squares of the logarithms),
    which evens out the rounding of the weights: of a product of R x C cells that was rounded to float32 it
    leaves at most 4 (1 - 1/R)(1 - 1/C) roundings in a cell. Rounding column and row to float32 adds 2. A mask
    that leaves more is not a product within rounding, and is not replaced by one. Nor is one whose weights
    add up to less than 2^24 steps, such as 2047 2048; 2048 2049: whole pictures make its sums exact, so its
    factors have to be.
Scale
    A power of two goes from one factor to the other, which rounds nothing, until the weights of the row,
    without signs, add up to at most 1. Then a result of the first pass is no larger than the largest sample:
    nothing overflows between the passes unless the direct sum does, not even where the column is 0. (Two
    exceptions: the row spans more than float32 does between its normal numbers and 1, or weights near 10^38
    would make the column overflow.) The price: a column above 1 magnifies what the first pass lost to
    subnormal numbers, in float32 pictures below 10^-38 all over. The bound has a term for that.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from numpy.typing import NDArray

from engine.mask.mask import Mask, Weights

# Whole numbers below this are float32 numbers exactly, and so are their sums that stay below it.
EXACT_STEPS = 2.0**24
UNIT_ROUNDOFF = 2.0**-24
SMALLEST_NORMAL = 2.0**-126

# For products of roundings, (1 + u)^6 - 1 > 6 u, and for the logarithms, which are good to 10^-14.
_SECOND_ORDER = 1e-5
# Powers of two that can go from one factor to the other.
_MOST_SHIFTS = 32


def step_of(numbers: np.ndarray) -> float:
    """Return the largest power of two of which every float32 number is a multiple; infinity if all are 0."""
    mantissas, exponents = np.frexp(np.asarray(numbers, np.float64))
    whole = (np.abs(mantissas) * EXACT_STEPS).astype(np.int64)
    lowest_bits = (whole & -whole)[whole != 0]
    return float(np.min(np.ldexp(lowest_bits.astype(np.float64), exponents[whole != 0] - 24), initial=np.inf))


def may_be_exact(weights: np.ndarray) -> bool:
    """Return whether sums of float32 weights over whole numbers can be exact: promised bit for bit then."""
    return bool(np.abs(weights).sum(dtype=np.float64) < EXACT_STEPS * step_of(weights))


class Factors(NamedTuple):
    """The best column and row for a mask, read-only, and how well their product gives it."""

    column: npt.NDArray[np.float32]
    row: npt.NDArray[np.float32]
    # Largest error of a weight, in units of 2^-24 of that weight; infinite where it is 0 and the product not.
    roundings: float
    # What rounding a product, its column and its row to float32 explains; 0 where factors have to be exact.
    allowed: float
    worst_cell: tuple[int, int]  # row and column of that weight

    @property
    def separable(self) -> bool:
        """Whether column times row is the mask, within rounding."""
        return self.roundings <= self.allowed


def factor(mask: Mask) -> Factors:
    """Return a mask's best factors (they fit if `separable`), cached because every edit needs them."""
    return _factor(mask.shape, mask.weights32.tobytes())


@lru_cache(maxsize=64)
def _factor(shape: tuple[int, int], weights32: bytes) -> Factors:
    weights = np.frombuffer(weights32, np.float32).reshape(shape).astype(np.float64)
    # A single line is its own factor: the pass along it is the direct sum, the other one multiplies by 1.
    if shape[0] == 1:
        return _measured(weights, np.ones(1), weights[0])
    if shape[1] == 1:
        return _measured(weights, weights[:, 0], np.ones(1))
    if not weights.any():
        return _measured(weights, weights[:, 0], weights[0])
    for find in (_exact_factors, _mean_factors):
        pair = find(weights)
        if pair is not None and (factors := _measured(weights, *_scaled(*pair))).separable:
            return factors
    # Its errors lie outside the largest weight's row and column, where they can be named one by one.
    return _measured(weights, *_scaled(*_pivot_factors(weights)))


def _exact_factors(weights: Weights) -> tuple[Weights, Weights] | None:
    """Return a column of the smallest whole numbers, positive at the largest weight, and its row; or None."""
    pivot_row, pivot_column = _pivot(weights)
    # Every float32 number is a whole multiple of 2^-149; Python's integers hold them all.
    whole = [int(value) for value in np.ldexp(weights[:, pivot_column], 149)]
    divisor = math.gcd(*whole) if whole[pivot_row] > 0 else -math.gcd(*whole)
    column: Weights = np.array([value // divisor for value in whole], np.float64)
    row: Weights = weights[pivot_row] / column[pivot_row]
    return (column, row) if np.array_equal(np.outer(column, row), weights) else None


def _mean_factors(weights: Weights) -> tuple[Weights, Weights] | None:
    """Return the means of rows and columns (geometric); None if a weight is 0 amid weights that are not."""
    column, row = _pivot_factors(weights)
    rows, columns = np.flatnonzero(column), np.flatnonzero(row)
    support = np.abs(weights[np.ix_(rows, columns)])
    if not support.all():
        return None
    logarithms = np.log2(support)
    along_rows, along_columns = logarithms.mean(axis=1), logarithms.mean(axis=0)
    # The column's largest weight becomes 1, which is not rounded.
    largest = along_rows.max()
    column[rows] = np.copysign(np.exp2(along_rows - largest), column[rows])
    row[columns] = np.copysign(np.exp2(along_columns - logarithms.mean() + largest), row[columns])
    return column, row


def _pivot_factors(weights: Weights) -> tuple[Weights, Weights]:
    """Return the row and the column of the largest weight: the whole mask, if its rank is 1."""
    pivot_row, pivot_column = _pivot(weights)
    return weights[:, pivot_column] / weights[pivot_row, pivot_column], weights[pivot_row].copy()


def _pivot(weights: Weights) -> tuple[int, int]:
    row, column = divmod(int(np.argmax(np.abs(weights))), weights.shape[1])
    return row, column


def _scaled(column: Weights, row: Weights) -> tuple[Weights, Weights]:
    """Move a power of two from the row to the column, or back."""
    magnitudes = np.abs(row)
    mantissa, exponent = math.frexp(math.fsum(magnitudes))
    shift = max(
        (mantissa == 0.5) - exponent,  # the row's weights add up to at most 1,
        min(0, -125 - math.frexp(magnitudes[magnitudes > 0.0].min())[1]),  # but none becomes subnormal,
        math.frexp(np.abs(column).max())[1] - 127,  # and the column does not overflow.
    )
    return np.ldexp(column, -shift), np.ldexp(row, shift)


def _measured(weights: Weights, column: Weights, row: Weights) -> Factors:
    """Return the factors rounded to float32, with the error of their product in the mask's worst cell."""
    column32, row32 = column.astype(np.float32), row.astype(np.float32)
    product = np.outer(column32.astype(np.float64), row32.astype(np.float64))  # without rounding
    with np.errstate(invalid="ignore", divide="ignore"):
        roundings = np.abs(product - weights) / (UNIT_ROUNDOFF * np.abs(weights))
    roundings[product == weights] = 0.0
    worst = divmod(int(np.argmax(roundings)), weights.shape[1])
    column32.setflags(write=False)
    row32.setflags(write=False)
    allowed = 0.0
    if not may_be_exact(weights):
        # Rows and columns of zeros round nothing.
        rows, columns = (int(np.count_nonzero(weights.any(axis=axis))) for axis in (1, 0))
        allowed = (4 * (1 - 1 / rows) * (1 - 1 / columns) + 2) * (1 + _SECOND_ORDER)
    return Factors(column32, row32, float(roundings[worst]), allowed, worst)


class LowRank(Struct, frozen=True, eq=False):
    """The sum of a given number of columns times rows that is nearest to a mask, in float32.

        weights[m, n] = column_1[m] * row_1[n] + column_2[m] * row_2[n] + ... + left_out[m, n]

    The singular value decomposition gives the nearest sum by squares (Eckart and Young, "The approximation of
    one matrix by another of lower rank", Psychometrika 1, 1936). A mask that is a sum of r products and was
    rounded to float32 is off by at most 2^-24 of each weight, so the nearest sum of r is off by no more than
    2^-24 of the root of the sum of all squares: the least r of which that is true is the rank here. What
    rounding the columns and rows to float32 does comes on top of it.

    A power of two goes from each row to its column, so that the row's weights, without signs, add up to at
    most 1: no value between the passes is larger than the largest sample. All arrays are read-only.
    """

    columns: NDArray[np.float32]  # (mask rows, terms)
    rows: NDArray[np.float32]  # (terms, mask columns)
    left_out: NDArray[np.float64]  # the mask's float32 weights less the sum of the products
    rank: int  # products that give the mask within the rounding of its weights to float32, whatever `terms`

    @property
    def magnitudes(self) -> NDArray[np.float64]:
        """The sum of |column| times |row|: what is rounded where a mask is applied as such a sum."""
        columns, rows = (np.abs(part.astype(np.float64)) for part in (self.columns, self.rows))
        return columns @ rows


def low_rank(mask: Mask, terms: int) -> LowRank:
    """Return the sum of `terms` products nearest to a mask, 0 past its shorter side, and its rank; cached."""
    return _low_rank(mask.shape, mask.weights32.tobytes(), terms)


@lru_cache(maxsize=64)
def _low_rank(shape: tuple[int, int], weights32: bytes, terms: int) -> LowRank:
    weights = np.frombuffer(weights32, np.float32).reshape(shape).astype(np.float64)
    left, values, right, exponent = _decomposed(shape, weights32)
    # What 0, 1, 2 ... products leave over; a little more is granted, for the decomposition's own rounding.
    over = np.append(np.cumsum((values**2)[::-1])[::-1], 0.0)
    rank = int(np.argmax(over <= (1 + 1e-6) * UNIT_ROUNDOFF**2 * over[0]))
    columns, rows = np.zeros((shape[0], terms), np.float32), np.zeros((terms, shape[1]), np.float32)
    with np.errstate(over="ignore", under="ignore"):
        for term in range(min(terms, *shape)):
            shift = math.frexp(math.fsum(np.abs(right[term])))[1]
            columns[:, term] = np.ldexp(left[:, term] * values[term], exponent + shift)
            rows[term] = np.ldexp(right[term], -shift)
    with np.errstate(invalid="ignore"):
        left_out = weights - columns.astype(np.float64) @ rows.astype(np.float64)
    for part in (columns, rows, left_out):
        part.setflags(write=False)
    return LowRank(columns, rows, left_out, rank)


# The singular values of 63 x 63 cells take 2 to 190 ms, as busy as the cores are.
@lru_cache(maxsize=64)
def _decomposed(
    shape: tuple[int, int], weights32: bytes
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    """Return the decomposition of weights / 2^exponent, the largest of which is near 1, and the exponent."""
    weights = np.frombuffer(weights32, np.float32).reshape(shape).astype(np.float64)
    exponent = math.frexp(float(np.abs(weights).max()))[1]
    left, values, right = np.linalg.svd(np.ldexp(weights, -exponent), full_matrices=False)
    return left, values, right, exponent


def split(mask: Mask) -> tuple[Mask, Mask] | None:
    """Return a column and a row whose product is the mask within float32 rounding; None if there are none.

    Applied in any order, the offset is added by the row. Whole numbers stay whole where they can. A mask of
    one row, of one column or of zeros has nothing to split.
    """
    factors = factor(mask)
    if not factors.separable or min(mask.shape) == 1 or not mask.weights32.any():
        return None
    column, row = factors.column.astype(np.float64), factors.row.astype(np.float64)
    # A power of two goes from the column to the row until both have whole numbers, if they ever do.
    moved = ((np.ldexp(column, -shift), np.ldexp(row, shift)) for shift in range(_MOST_SHIFTS))
    column, row = next((both for both in moved if not any((one % 1.0).any() for one in both)), (column, row))
    name = f"{mask.name}, " if mask.name else ""
    return (
        Mask(column[:, np.newaxis], (mask.anchor[0], 0), 0.0, f"{name}column"),
        Mask(row[np.newaxis, :], (0, mask.anchor[1]), mask.offset, f"{name}row"),
    )
