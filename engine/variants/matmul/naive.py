"""`matmul-naive`: one thread per element of P, everything in global memory.

Idea
    Thread (row, column) walks along row `row` of M and down column `column` of N.
Who loads what
    Every thread loads its whole row of M and its whole column of N. The threads of one row of the block ask
    for the same element of M at once (one broadcast) and for neighbouring elements of N (coalesced). What the
    other rows of the block ask for again may come from L1 or L2.
Limit
    One load per operation, CGMA 1: 86.4 GB/s feed 21.6 GFLOPS. The tile is only the block's side here: no
    shared memory is used.

Source: COSC 407, "CUDA Memories and Performance Revisited", MatrixMul without shared memory (there for square
matrices whose width is a multiple of the tile).
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.tasks.product.problem import MatrixProduct, product_work
from engine.variants.matmul.grid import cuda_variant

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32


def work(product: MatrixProduct, block: Block) -> Work:
    """Return the work: an element of M and one of N from global memory for each multiply-add."""
    return product_work(product, global_loads=2 * product.multiply_adds)


def roundings(product: MatrixProduct, block: Block) -> int:
    """Return the roundings of the first product: its own, and one for each later product of the sum."""
    return product.inner


@kernel_factory
def kernel():
    """Return the kernel; the sizes are known at run time."""

    @cuda.jit
    def matmul_naive(m, n, p):
        column, row = cuda.grid(2)
        if row >= p.shape[0] or column >= p.shape[1]:
            return
        total = float32(0.0)
        for k in range(m.shape[1]):
            total += m[row, k] * n[k, column]
        p[row, column] = total

    return matmul_naive


VARIANT = cuda_variant(
    lambda block: kernel(),
    key="matmul-naive",
    title="Naive product",
    idea="One thread per element of P, which reads its row of M and its column of N from global memory.",
    roundings=roundings,
    work=work,
)
