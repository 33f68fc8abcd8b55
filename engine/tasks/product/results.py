"""The result of a run of a product."""

from engine.results.measurement import Measurement
from engine.tasks.product.problem import MatrixProduct

ProductResult = Measurement[MatrixProduct]


def tile_of(result: ProductResult) -> int | None:
    """Return the side of the tile, which is a run's square block; None where it has none."""
    return result.block.x if result.block else None
