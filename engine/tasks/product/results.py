"""The result of a run of a product."""

from typing import TYPE_CHECKING

from engine.results.measurement import Measurement

if TYPE_CHECKING:
    from engine.tasks.product.problem import MatrixProduct

    ProductResult = Measurement[MatrixProduct]
else:
    # Scripts ask `isinstance(result, ...)`; a class with its parameter cannot answer.
    ProductResult = Measurement


def tile_of(result: "ProductResult") -> int | None:
    """Return the side of the tile, which is a run's square block; None where it has none."""
    return result.block.x if result.block else None
