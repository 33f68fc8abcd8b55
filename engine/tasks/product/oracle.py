"""The oracle: the product in float64, and the bound that rounding explains; no line shared with a variant.

    |C - R| <= gamma_k |A| |B|,   gamma_k = k u / (1 - k u),   u = 2^-24

where R is the product in float64, |A| |B| that of the magnitudes, and k the most roundings that a product of
two elements goes through on its way into C, which depends on how the variant forms its partial sums (Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 3.5). One more pays for the oracle's
own float64.
"""

import numpy as np
from numpy.typing import NDArray

from engine.verify.closeness import SMALLEST_SUBNORMAL, relative_bound
from engine.verify.regions import Region

Float64Array = NDArray[np.float64]
EXACT_INTEGERS = 2.0**24


def product(a: np.ndarray, b: np.ndarray, region: Region) -> Float64Array:
    """Return a rectangle of A B, some rows and columns of the product, in float64."""
    return _multiplied(a, b, region)


def magnitudes(a: np.ndarray, b: np.ndarray, region: Region) -> Float64Array:
    """Return a rectangle of |A| |B| in float64; those not finite count as 0."""
    return _multiplied(_magnitudes(a), _magnitudes(b), region)


def rounding_bound(largest: Float64Array, roundings: int, inner: int) -> Float64Array:
    """Return the bound of |C - R|, where `largest` is |A| |B| and each sum has `inner` products.

    `roundings` are those of `MatmulVariant.roundings`; the last term covers products that are subnormal.
    """
    return relative_bound(roundings + 1) * largest + (inner + 1) * SMALLEST_SUBNORMAL


def are_integers(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether all elements are whole numbers: then nothing is rounded where |A| |B| < 2^24."""
    return all(bool(np.all(matrix == np.rint(matrix)) and np.isfinite(matrix).all()) for matrix in (a, b))


def _magnitudes(matrix: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(matrix), np.abs(matrix), np.float32(0.0))


def _multiplied(a: np.ndarray, b: np.ndarray, region: Region) -> Float64Array:
    rows, columns = region.slices
    left, right = a[rows].astype(np.float64), b[:, columns].astype(np.float64)
    if np.isfinite(left).all() and np.isfinite(right).all():
        result: Float64Array = left @ right
        return result
    # A BLAS may pass over zeros, and 0 x infinity is NaN; these plain loops do not (1 G/s).
    with np.errstate(invalid="ignore"):
        plain: Float64Array = np.einsum("ik,kj->ij", left, right, optimize=False)
    return plain
