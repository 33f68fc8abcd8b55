"""The result of a run of a product."""

from typing import TYPE_CHECKING

from engine.results.measurement import Measurement

if TYPE_CHECKING:
    from engine.tasks.product.problem import MatrixProduct

    ProductResult = Measurement[MatrixProduct]
else:
    # Scripts ask `isinstance(result, ...)`; a class with its parameter cannot answer.
    ProductResult = Measurement
