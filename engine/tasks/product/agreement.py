"""How well a product agrees with the float64 oracle, by a bound that is computed and not chosen."""

from collections.abc import Callable

import numpy as np

from engine.tasks.product import oracle
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import LARGEST_TILE
from engine.verify.regions import Region, affordable_regions
from engine.verify.verification import Verification, verify_regions

# NumPy's float64 product makes 12 to 21 G multiply-adds per second on two cores and each check needs two of
# them: 1e10 keeps it near 2 s, and covers every element up to 2154 x 2154 x 2154.
AFFORDABLE_MULTIPLY_ADDS = 10_000_000_000
BAND_MULTIPLY_ADDS = 2_000_000_000


def regions_to_check(product: MatrixProduct, seed: int, affordable: int | None = None) -> tuple[Region, ...]:
    """Return all of P where the oracle can afford it; else edges as wide as the largest tile, and a grid."""
    edges = (LARGEST_TILE, LARGEST_TILE)
    affordable = AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable
    return affordable_regions(product.rows, product.columns, edges, product.inner, affordable, seed)


def verify(
    result: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    product: MatrixProduct,
    roundings: int,
    *,
    seed: int = 0,
    affordable: int | None = None,
    checkpoint: Callable[[float], None] = lambda fraction: None,
) -> Verification:
    """Compare a float32 product with the oracle's; its pixels are the elements of P.

    Parameters
    ----------
    roundings : int
        As `MatmulVariant.roundings` gives them.
    seed : int
        Of the grid, where not everything can be checked.
    affordable : int, optional
        Multiply-adds that the oracle may spend; None: those of about 2 s.
    checkpoint : callable of float
        Called with the fraction done; may raise to stop.
    """
    integers = oracle.are_integers(a, b)

    def limits(band: Region) -> tuple[np.ndarray, np.ndarray]:
        largest = oracle.magnitudes(a, b, band)
        bounds = oracle.rounding_bound(largest, roundings, product.inner)
        # Sums of whole numbers below 2^24 are whole numbers that float32 has: nothing is rounded.
        is_exact = integers & (largest < oracle.EXACT_INTEGERS)
        return largest, np.where(is_exact, 0.0, bounds)

    return verify_regions(
        result,
        regions_to_check(product, seed, affordable),
        BAND_MULTIPLY_ADDS // product.inner,
        lambda band: oracle.product(a, b, band),
        limits,
        checkpoint,
    )
