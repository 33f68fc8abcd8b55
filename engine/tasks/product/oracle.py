"""The oracle, the product in float64, and how well a product agrees with it; no line shared with a variant.

    |C - R| <= gamma_k |A| |B|,   gamma_k = k u / (1 - k u),   u = 2^-24

where R is the product in float64, |A| |B| that of the magnitudes, and k the most roundings that a product of
two elements goes through on its way into C, which depends on how the variant forms its partial sums (Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 3.5). One more pays for the oracle's
own float64.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.tasks.product.problem import LARGEST_TILE, MatrixProduct
from engine.verify.closeness import SMALLEST_SUBNORMAL, Limits, Verification, relative_bound
from engine.verify.verification import Region, affordable_regions, verify_regions

Float64Array = NDArray[np.float64]
EXACT_INTEGERS = 2.0**24
# NumPy's float64 product makes 12 to 21 G multiply-adds per second on two cores and each check needs two of
# them: 1e10 keeps it near 2 s, and covers every element up to 2154 x 2154 x 2154.
AFFORDABLE_MULTIPLY_ADDS = 10_000_000_000
BAND_MULTIPLY_ADDS = 2_000_000_000


def exact_product(a: np.ndarray, b: np.ndarray, region: Region) -> Float64Array:
    """Return a rectangle of A B, some rows and columns of the product, in float64."""
    rows, columns = region.slices
    left, right = a[rows].astype(np.float64), b[:, columns].astype(np.float64)
    if np.isfinite(left).all() and np.isfinite(right).all():
        return left @ right
    # A BLAS may pass over zeros, and 0 x infinity is NaN; these plain loops do not (1 G/s).
    with np.errstate(invalid="ignore"):
        plain: Float64Array = np.einsum("ik,kj->ij", left, right, optimize=False)
    return plain


def magnitudes(a: np.ndarray, b: np.ndarray, region: Region) -> Float64Array:
    """Return a rectangle of |A| |B| in float64; those not finite count as 0."""
    left, right = (np.where(np.isfinite(one), np.abs(one), np.float32(0.0)) for one in (a, b))
    return exact_product(left, right, region)


def rounding_bound(largest: Float64Array, roundings: int, inner: int) -> Float64Array:
    """Return the bound of |C - R|, where `largest` is |A| |B| and each sum has `inner` products.

    `roundings` are those of `MatmulVariant.roundings`; the last term covers products that are subnormal.
    """
    return relative_bound(roundings + 1) * largest + (inner + 1) * SMALLEST_SUBNORMAL


def regions_to_check(product: MatrixProduct, seed: int, affordable: int | None = None) -> tuple[Region, ...]:
    """Return all of P where the oracle can afford it; else edges as wide as the largest tile, and a grid."""
    edges = (LARGEST_TILE, LARGEST_TILE)
    affordable = AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable
    return affordable_regions(product.rows, product.columns, edges, product.inner, affordable, seed)


def verify(
    result: np.ndarray, a: np.ndarray, b: np.ndarray, product: MatrixProduct, roundings: int,
    *, seed: int = 0, affordable: int | None = None,
    checkpoint: Callable[[float], None] = lambda fraction: None,
) -> Verification:  # fmt: skip
    """Compare a float32 product with the oracle's; its pixels are the elements of P.

    `roundings` are those of `MatmulVariant.roundings`, the rest is as of `engine.run.task.Task.verify`.
    """
    # Sums of whole numbers below 2^24 are whole numbers that float32 has: nothing is rounded.
    are_integers = all(bool((one == np.rint(one)).all() and np.isfinite(one).all()) for one in (a, b))

    def limits(band: Region) -> tuple[np.ndarray, np.ndarray]:
        largest = magnitudes(a, b, band)
        bounds = rounding_bound(largest, roundings, product.inner)
        return largest, np.where(are_integers & (largest < EXACT_INTEGERS), 0.0, bounds)

    def oracle(band: Region) -> tuple[np.ndarray, Limits]:
        return exact_product(a, b, band), partial(limits, band)

    regions = regions_to_check(product, seed, affordable)
    return verify_regions(result, regions, BAND_MULTIPLY_ADDS // product.inner, oracle, checkpoint)
