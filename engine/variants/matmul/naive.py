"""`matmul-naive`: one thread an element of C, everything in global memory.

Idea
    Thread (row, column) walks along row `row` of A and down column `column` of B.
Who loads what
    Every thread loads its whole row of A and its whole column of B. The threads of a row of the block ask for the
    same element of A at once (one broadcast) and for neighbouring elements of B (coalesced); what the other rows of
    the block ask for again, only L1 and L2 know.
Limit
    One load for each operation, CGMA 1: 86.4 GB/s feed 21.6 GFLOPS. The tile is only the block's side here: no shared
    memory is used.

Source: COSC 407, "CUDA Memories and Performance Revisited", MatrixMul without shared memory (there for square matrices
whose width is a multiple of the tile).
"""

from functools import lru_cache

from engine.device.cuda_kernels import PreparedProduct, float32
from engine.device.kernel_cache import kept_on_disk
from engine.device.launches import DeviceKind, Launch, Pass
from engine.device.numba_cuda import cuda
from engine.geometry.block import Limits
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import TileRefusal, refuse_tile
from engine.tasks.product.work import product_work
from engine.tasks.work import Work
from engine.variants.matmul.contract import MatmulVariant
from engine.variants.matmul.grid import ARGUMENTS, SIGNATURE, one_launch


def plan(product: MatrixProduct, tile: int) -> tuple[Launch, ...]:
    """Return one launch, a thread an element of C, no shared memory."""
    return one_launch(product, tile)


def work(product: MatrixProduct, tile: int) -> Work:
    """Return the work: an element of A and one of B from global memory for each multiply-add."""
    return product_work(product, global_loads=2 * product.multiply_adds)


def unsupported(product: MatrixProduct, tile: int, limits: Limits) -> TileRefusal | None:
    """Return why the block or the grid is illegal, or None."""
    return refuse_tile(product, tile, limits)


def roundings(product: MatrixProduct, tile: int) -> int:
    """Return the roundings of the first product: its own, and one for each later product of the one long sum."""
    return product.inner


@lru_cache
@kept_on_disk
def kernel():
    """Return the kernel; the sizes are known at run time."""

    @cuda.jit
    def matmul_naive(a, b, c):
        column, row = cuda.grid(2)
        if row >= c.shape[0] or column >= c.shape[1]:
            return
        total = float32(0.0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total

    return matmul_naive


def passes(product: MatrixProduct, tile: int) -> tuple[Pass, ...]:
    """Return the one pass."""
    (launch,) = plan(product, tile)
    return (Pass("matmul_naive", kernel(), SIGNATURE, launch, ARGUMENTS),)


VARIANT = MatmulVariant(
    key="matmul-naive",
    title="Naive product",
    device=DeviceKind.CUDA,
    idea="One thread an element of C; every thread reads its row of A and its column of B from global memory.",
    prepare=lambda product, tile: PreparedProduct(passes(product, tile)),
    roundings=roundings,
    plan=plan,
    work=work,
    unsupported=unsupported,
    passes=passes,
)
