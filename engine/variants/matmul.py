"""Ways to multiply matrices: kernels of a thread per element of P, in T x T blocks, and NumPy's product."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32, jit_for
from engine.device.launches import DeviceKind, Kernel, Launch, Operand, Pass, Placeholder
from engine.geometry.block import FLOAT_BYTES, Block, Limits, Refusal, SharedBytes, blocks_along
from engine.results.problem import Work
from engine.tasks.product.problem import MatmulVariant, MatrixProduct, product_work, refuse_tile
from engine.variants.passes import Types, by_passes, made_pass


class Matrix(Placeholder):
    """The two operands of a product."""

    LEFT = "M"
    RIGHT = "N"


def cuda_variant(
    kernel_of: Callable[[Block], Kernel], shared_bytes: SharedBytes = lambda block: 0, **traits: Any
) -> MatmulVariant:
    """Return the variant of a kernel that takes M, N and P, a thread per element of P.

    `shared_bytes` gives the static shared memory of a block.
    """

    def plan(product: MatrixProduct, block: Block) -> tuple[Launch, ...]:
        return (Launch.of_threads(product.rows, product.columns, 1, block, shared_bytes(block)),)

    def passes(product: MatrixProduct, constant: None, block: Block) -> tuple[Pass, ...]:
        arguments = (Matrix.LEFT, Matrix.RIGHT, Operand.OUT)
        types: Types = dict.fromkeys(arguments, ("float32", 2))
        (launch,) = plan(product, block)
        return (made_pass(kernel_of(block), launch, arguments, types),)

    def refuse(product: MatrixProduct, constant: None, block: Block, limits: Limits) -> Refusal | None:
        return refuse_tile(product, block, limits, shared_bytes)

    return MatmulVariant(**by_passes(passes), plan=plan, unsupported=refuse, **traits)


@kernel_factory
def naive_kernel():
    """`matmul-naive`: one thread per element of P, everything in global memory.

    Idea
        Thread (row, column) walks along row `row` of M and down column `column` of N.
    Who loads what
        Every thread loads its whole row of M and its whole column of N. The threads of one row of the block
        ask for the same element of M at once (one broadcast) and for neighbouring elements of N (coalesced).
        What the other rows of the block ask for again may come from L1 or L2.
    Limit
        One load per operation, CGMA 1: 86.4 GB/s feed 21.6 GFLOPS. The tile is only the block's side here: no
        shared memory is used.

    Source: COSC 407, "CUDA Memories and Performance Revisited", MatrixMul without shared memory (there for
    square matrices whose width is a multiple of the tile).
    """

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


NAIVE = cuda_variant(
    lambda block: naive_kernel(),
    key="matmul-naive",
    title="Naive product",
    idea="One thread per element of P, which reads its row of M and its column of N from global memory.",
    # Of the first product: its own, and one for each later product of the sum.
    roundings=lambda product, block: product.inner,
    # An element of M and one of N from global memory for each multiply-add.
    work=lambda product, block: product_work(product, global_loads=2 * product.multiply_adds),
)


def shared_bytes(block: Block) -> int:
    """Return the bytes of a tile of M and a tile of N."""
    return 2 * block.threads * FLOAT_BYTES


def tiled_work(product: MatrixProduct, block: Block) -> Work:
    """Return the work: M is loaded once for each tile of columns, N once for each tile of rows.

    Every thread stores two elements per phase, filling zeros included; a thread with an element of P reads
    and multiplies T elements of each tile in each phase, zeros included.
    """
    phases = blocks_along(product.inner, block.x)
    across, down = blocks_along(product.columns, block.x), blocks_along(product.rows, block.y)
    multiply_adds = product.values * phases * block.x
    return product_work(
        product,
        global_loads=product.rows * product.inner * across + product.inner * product.columns * down,
        multiply_adds=multiply_adds,
        shared_loads=2 * multiply_adds,
        shared_stores=2 * across * down * phases * block.threads,
    )


@kernel_factory
def tiled_kernel(tile: int):
    """`matmul-tiled`: the block shares tiles of M and N, phase by phase along the inner dimension.

    Idea
        A block of T x T threads computes a tile of P. In each phase it copies one T x T tile of M and one of
        N into shared memory (Ms and Ns), one element of each per thread; after a barrier every thread
        multiplies its row of the one with its column of the other, and adds the phase's partial sum to its
        total. A second barrier keeps the tiles until all have read them.
    Who loads what
        Each thread loads two elements per phase and uses 2 T: each loaded element serves T threads. Outside
        the matrices a thread stores zero instead, so that any size is possible and no thread misses a
        barrier.
    What it saves
        Against `matmul-naive`: loads from global memory fall by the factor T, CGMA T (16 x 16: 86.4 GB/s feed
        345.6 GFLOPS; the slide prints 347.6).
    Limit
        Each multiply-add still needs two loads from shared memory, and sizes that are no multiples of T
        multiply the filling zeros as well.

    Source: COSC 407, "CUDA Memories and Performance Revisited", "Tiled Multiplication: Kernel Code" with the
    guards that its slides ask for.
    """
    TILE = tile

    @jit_for(tile * tile)
    def matmul_tiled(m, n, p):
        Ms = cuda.shared.array((TILE, TILE), float32)
        Ns = cuda.shared.array((TILE, TILE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        inner = m.shape[1]
        inside = row < p.shape[0] and column < p.shape[1]

        total = float32(0.0)
        for first in range(0, inner, TILE):
            # Load a tile of each matrix, one element per thread; zeros outside.
            of_m = float32(0.0)
            if row < p.shape[0] and first + tx < inner:
                of_m = m[row, first + tx]
            of_n = float32(0.0)
            if first + ty < inner and column < p.shape[1]:
                of_n = n[first + ty, column]
            Ms[ty, tx] = of_m
            Ns[ty, tx] = of_n
            # No thread may read an element before it is stored.
            cuda.syncthreads()

            if inside:
                partial = float32(0.0)
                for k in range(TILE):
                    partial += Ms[ty, k] * Ns[k, tx]
                total += partial
            # No thread may store the next phase's elements before all have read this one's.
            cuda.syncthreads()

        if inside:
            p[row, column] = total

    return matmul_tiled


TILED = cuda_variant(
    lambda block: tiled_kernel(block.x),
    shared_bytes,
    key="matmul-tiled",
    title="Tiled product, shared memory",
    idea="In each phase the block loads tiles of M and N into shared memory; each element serves T threads.",
    # Of the first product: its own and its partial sum's, then one per later phase.
    roundings=lambda product, block: min(block.x, product.inner) + blocks_along(product.inner, block.x) - 1,
    work=tiled_work,
)


NUMPY_STORY = """
`numpy`: NumPy's own product on the CPU, by the BLAS that it was built with: what the kernels compare with.

What it does inside is the library's: vectors, tiles for each cache, all cores. So its loads are not counted,
and it has neither tile nor CGMA. Python looks for Ctrl+C between its calls, so past 4096 x 4096 x 4096 a
product is several calls, one per part of P, which take as long as one for the whole (8192: 5.4 s).
"""
# 0.7 s on two cores.
MULTIPLY_ADDS_PER_CALL = 2**36


class NumpyProduct:
    """A product by `numpy.matmul`."""

    def launch(self, image: tuple[np.ndarray, np.ndarray], out: np.ndarray, stream: object = None) -> None:
        """Multiply the pair (M, N) into P."""
        a, b = image
        rows, columns = out.shape
        side = max(1, math.isqrt(MULTIPLY_ADDS_PER_CALL // a.shape[1]))
        # Infinite and NaN elements are the person's own.
        with np.errstate(all="ignore"):
            if rows * columns <= side**2:
                np.matmul(a, b, out=out)
                return
            for top in range(0, rows, side):
                for left in range(0, columns, side):
                    part = out[top : top + side, left : left + side]
                    np.matmul(a[top : top + side], b[:, left : left + side], out=part)


NUMPY = MatmulVariant(
    key="numpy",
    title="numpy (BLAS)",
    device=DeviceKind.CPU,
    idea="NumPy's own product on the CPU, for comparison: the BLAS library that it was built with.",
    prepare=lambda product, constant, block: NumpyProduct(),
    work=lambda product, block: None,
    # No order of summation exceeds this: a product's own rounding, and one for each other product.
    roundings=lambda product, block: product.inner,
    uses_block=False,
    library="numpy",
)
