"""What the kernels share: the grid of T x T blocks over C, and the one pass with its arguments."""

from collections.abc import Callable

from engine.device.launches import Kernel, Launch, Operand, Pass, Prepared
from engine.geometry.block import Block
from engine.geometry.block_rules import blocks_along
from engine.tasks.product.problem import MatrixProduct
from engine.variants.kernel_types import type_of
from engine.variants.matmul.operands import Matrix

Passes = Callable[[MatrixProduct, None, Block], tuple[Pass, ...]]


def one_launch(product: MatrixProduct, block: Block, shared_bytes: int = 0) -> tuple[Launch, ...]:
    """Return the launch of one thread per element of P: x along columns, y along rows."""
    grid = (blocks_along(product.columns, block.x), blocks_along(product.rows, block.y), 1)
    return (Launch(grid, (block.x, block.y, 1), shared_bytes),)


def one_pass(name: str, kernel: Kernel, launches: tuple[Launch, ...]) -> tuple[Pass, ...]:
    """Return the one pass of a kernel that takes M, N and P."""
    matrix = type_of("float32", 2)
    (launch,) = launches
    arguments = (Matrix.LEFT, Matrix.RIGHT, Operand.OUT)
    return (Pass(name, kernel, (matrix, matrix, matrix), launch, arguments),)


def prepare_product(passes: Passes) -> Callable[[MatrixProduct, None, Block], Prepared]:
    """Return the `prepare` of a variant that consists of these passes."""

    def prepare(product: MatrixProduct, constant: None, block: Block) -> Prepared:
        # The variants are listed without Numba.
        from engine.variants.matmul.prepared_product import PreparedProduct

        return PreparedProduct(passes(product, constant, block))

    return prepare
