"""How well a product agrees with the float64 oracle, by a bound that is computed and not chosen."""

from collections.abc import Callable, Iterator

import numpy as np

from engine.tasks.product import oracle
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import LARGEST_TILE
from engine.verify.closeness import compare
from engine.verify.regions import Region, spread_regions
from engine.verify.verification import Verification

# NumPy's float64 product makes 12 to 21 G multiply-adds a second on two cores and each check needs two of them: 1e10
# keeps it near 2 s, and covers every element up to 2154 x 2154 x 2154.
AFFORDABLE_MULTIPLY_ADDS = 10_000_000_000
BAND_MULTIPLY_ADDS = 2_000_000_000


def regions_to_check(
    product: MatrixProduct, seed: int, affordable: int = AFFORDABLE_MULTIPLY_ADDS
) -> tuple[Region, ...]:
    """Return the whole product where the oracle can afford it; else its four edges and spread rectangles.

    Parameters
    ----------
    product : MatrixProduct
    seed : int
        Of the choice of rectangles.
    affordable : int
        Multiply-adds that the oracle may spend; the edges, up to the largest tile wide, are checked whatever they cost.
    """
    rows, columns = product.rows, product.columns
    if product.multiply_adds <= affordable:
        return (Region(0, rows, 0, columns),)
    elements = max(4096, affordable // product.inner)
    edge_rows = max(1, min(LARGEST_TILE, rows, elements // (8 * columns)))
    edge_columns = max(1, min(LARGEST_TILE, columns, elements // (8 * rows)))
    return spread_regions(rows, columns, edge_rows, edge_columns, elements, seed)


def verify(
    result: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    product: MatrixProduct,
    roundings: int,
    *,
    seed: int = 0,
    affordable: int = AFFORDABLE_MULTIPLY_ADDS,
    checkpoint: Callable[[float], None] = lambda fraction: None,
) -> Verification:
    """Compare a product with the oracle's.

    Parameters
    ----------
    result : ndarray of shape (rows, columns), float32
    a, b : ndarray, float32
    product : MatrixProduct
    roundings : int
        As `MatmulVariant.roundings` gives them.
    seed : int
        Of the rectangles, where not everything can be checked.
    affordable : int
        Multiply-adds that the oracle may spend.
    checkpoint : callable of float
        Called with the fraction done; may raise to stop.

    Returns
    -------
    Verification
        Its pixels are the elements of C.
    """
    regions = regions_to_check(product, seed, affordable)
    total = sum(region.pixels for region in regions)
    integers = oracle.are_integers(a, b)
    exact, error, bound, failure, checked = True, 0.0, 0.0, "", 0
    for band in (band for region in regions for band in _bands(region, product.inner)):
        checkpoint(checked / total)
        wanted = oracle.product(a, b, band)

        def limits(band: Region = band) -> tuple[np.ndarray, np.ndarray]:
            largest = oracle.magnitudes(a, b, band)
            bounds = oracle.rounding_bound(largest, roundings, product.inner)
            # Sums of whole numbers below 2^24 are whole numbers that float32 has: nothing is rounded.
            is_exact = integers & (largest < oracle.EXACT_INTEGERS)
            return largest, np.where(is_exact, 0.0, bounds)

        found = compare(result[band.slices], wanted, limits)
        exact = exact and found.exact
        if found.max_error > error:
            error, bound = found.max_error, found.bound
        if found.wrong is not None and not failure:
            row, column = found.wrong
            failure = (
                f"not verified: row {band.top + row}, column {band.left + column} is "
                f"{result[band.top + row, band.left + column]!s}, the oracle says {wanted[row, column]:.9g} "
                f"(rounding explains at most {found.wrong_bound:.2g})"
            )
        checked += band.pixels
    return Verification(not failure, error, bound, checked, product.elements, exact, failure)


def _bands(region: Region, inner: int) -> Iterator[Region]:
    """Yield the region in bands of rows, so that float64 copies stay small and a cancellation is noticed soon."""
    rows = max(1, BAND_MULTIPLY_ADDS // (inner * (region.right - region.left)))
    for top in range(region.top, region.bottom, rows):
        yield Region(top, min(top + rows, region.bottom), region.left, region.right)
