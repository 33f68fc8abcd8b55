"""What the kernels share: the grid of T x T blocks over C, and the types of their arguments."""

from numba import types

from engine.device.launches import Launch, Operand
from engine.geometry.block_rules import blocks_along
from engine.tasks.product.problem import MatrixProduct

MATRIX = types.Array(types.float32, 2, "C")
SIGNATURE = (MATRIX, MATRIX, MATRIX)
ARGUMENTS = (Operand.MATRIX_A, Operand.MATRIX_B, Operand.OUT)


def one_launch(product: MatrixProduct, tile: int, shared_bytes: int = 0) -> tuple[Launch, ...]:
    """Return the launch of one thread an element of C: x along columns, y along rows."""
    grid = (blocks_along(product.columns, tile), blocks_along(product.rows, tile), 1)
    return (Launch(grid, (tile, tile, 1), shared_bytes),)
