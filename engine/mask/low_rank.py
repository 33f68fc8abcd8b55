"""A mask as a sum of a few columns times rows, in float32, and what that leaves out.

    weights[m, n] = column_1[m] * row_1[n] + column_2[m] * row_2[n] + ... + left_out[m, n]

The singular value decomposition gives the nearest sum of a given number of products, by the sum of squares
(Eckart and Young, "The approximation of one matrix by another of lower rank", Psychometrika 1, 1936). A mask
that is a sum of r products and was rounded to float32 is off by at most 2^-24 of each weight, so the nearest
sum of r is off by no more than 2^-24 of the root of the sum of all squares: the least r of which that is true
is the rank here. What rounding the columns and rows to float32 does comes on top of it; `LowRank.left_out` is
what is true of the rounded ones.

A power of two goes from each row to its column, so that the row's weights, without signs, add up to at most
1: no value between the passes is larger than the largest sample.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.mask.factors import UNIT_ROUNDOFF
from engine.mask.mask import Mask


@dataclass(frozen=True, eq=False)
class LowRank:
    """The sum of a given number of columns times rows that is nearest to a mask.

    Attributes
    ----------
    columns : ndarray of shape (mask rows, terms), float32, read-only
    rows : ndarray of shape (terms, mask columns), float32, read-only
    left_out : ndarray of the mask's shape, float64, read-only
        The mask's float32 weights less the sum of the products.
    rank : int
        Products that it takes to give the mask within the rounding of its weights to float32, whatever
        `terms`.
    """

    columns: NDArray[np.float32]
    rows: NDArray[np.float32]
    left_out: NDArray[np.float64]
    rank: int

    @property
    def magnitudes(self) -> NDArray[np.float64]:
        """The sum of |column| times |row|: what is rounded where a mask is applied as such a sum."""
        columns, rows = (np.abs(part.astype(np.float64)) for part in (self.columns, self.rows))
        products: NDArray[np.float64] = columns @ rows
        return products


def low_rank(mask: Mask, terms: int) -> LowRank:
    """Return the sum of `terms` products that is nearest to a mask's float32 weights, and the rank of these.

    Products past the shorter side of the mask are 0. Cached by the weights, because every edit needs
    this.
    """
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
