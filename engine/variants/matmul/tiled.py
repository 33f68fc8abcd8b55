"""`matmul-tiled`: the block shares tiles of M and N, phase by phase along the inner dimension.

Idea
    A block of T x T threads computes a tile of P. In each phase it copies one T x T tile of M and one of N
    into shared memory (Ms and Ns), one element of each per thread; after a barrier every thread multiplies
    its row of the one with its column of the other, and adds the phase's partial sum to its total. A second
    barrier keeps the tiles until all have read them.
Who loads what
    Each thread loads two elements per phase and uses 2 T: each loaded element serves T threads. Outside the
    matrices a thread stores zero instead, so that any size is possible and no thread misses a barrier.
What it saves
    Against `matmul-naive`: loads from global memory fall by the factor T, CGMA T (16 x 16: 86.4 GB/s feed
    345.6 GFLOPS; the slide prints 347.6).
Limit
    Each multiply-add still needs two loads from shared memory, and sizes that are no multiples of T multiply
    the filling zeros as well.

Source: COSC 407, "CUDA Memories and Performance Revisited", "Tiled Multiplication: Kernel Code" with the
guards that its slides ask for.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block, blocks_along
from engine.geometry.layout import FLOAT_BYTES
from engine.results.problem import Work
from engine.tasks.product.problem import MatrixProduct, product_work
from engine.variants.matmul.grid import cuda_variant

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, jit_for


def shared_bytes(block: Block) -> int:
    """Return the bytes of a tile of M and a tile of N."""
    return 2 * block.threads * FLOAT_BYTES


def work(product: MatrixProduct, block: Block) -> Work:
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


def roundings(product: MatrixProduct, block: Block) -> int:
    """Return the roundings of the first product: its own and its partial sum's, then one per later phase."""
    return min(block.x, product.inner) + blocks_along(product.inner, block.x) - 1


@kernel_factory
def kernel(tile: int):
    """Return the kernel for a tile; the sizes are known at run time."""
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


VARIANT = cuda_variant(
    lambda block: kernel(block.x),
    shared_bytes,
    key="matmul-tiled",
    title="Tiled product, shared memory",
    idea="In each phase the block loads tiles of M and N into shared memory; each element serves T threads.",
    roundings=roundings,
    work=work,
)
