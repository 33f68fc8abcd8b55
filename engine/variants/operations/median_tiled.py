"""`median-tiled`: the block's tile in shared memory, and a sorting network in registers.

Idea
    The block copies its cells and a halo of 1 or 2 cells to shared memory. Each thread sorts the columns of
    its window, then what that leaves of the rows, by minima and maxima in a fixed order
    (`median_network.py`): no branch, no index that depends on a sample, so everything stays in registers.
Who loads what
    Each cell of the tile is loaded from global memory once, cell by cell, by threads side by side. A thread
    reads its 9 or 25 cells from shared memory, those of float32 twice: the first time for NaN.
What it saves
    Against `median-naive`: 675 loads from global memory become 1.7 (5 x 5, a block of 32 x 8), and 625
    comparisons some 100.
Limit
    Each thread sorts its own columns, though its neighbours sort four of the same five.

Source: COSC 407, "CUDA Memories and Performance Revisited", noise reduction and tiling.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.layout import FLOAT_BYTES
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant
from engine.variants.operations.median_network import middle_of_3, sorted_3, sorted_5
from engine.work.operations.median import BORDER
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_for

COMPARISONS = {3: 20, 5: 112}


def tile_cells(problem: OperationProblem, block: Block) -> int:
    """Return the cells of a block's tile."""
    halo = problem.whole("size") - 1
    return (block.y + halo) * (block.x + halo)


def shared_bytes(problem: OperationProblem, block: Block) -> int:
    """Return the bytes of a block's tile, float32."""
    return tile_cells(problem, block) * FLOAT_BYTES


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each block loads and stores its tile; each sample reads its window from it."""
    size = problem.whole("size")
    cells = STEP.launch(problem, block).blocks * tile_cells(problem, block)
    return operation_work(
        problem,
        picture_loads=cells,
        flops=COMPARISONS[size] * problem.samples,
        shared_stores=cells,
        shared_loads=problem.samples * size * size * (2 if problem.is_float else 1),
    )


@kernel_factory
def kernel(size: int, block: Block, has_nan: bool):
    """Return the kernel for a size of window and a block; `has_nan`: whether samples may be NaN."""
    rule = cuda_rule(BORDER)
    middle, order, order_5 = (
        cuda.jit(device=True, inline="always")(function) for function in (middle_of_3, sorted_3, sorted_5)
    )
    SIZE, HALF, BLOCK_X, BLOCK_Y, HAS_NAN = size, size // 2, block.x, block.y, has_nan
    TILE_X, TILE_Y = block.x + size - 1, block.y + size - 1

    @jit_for(block.threads)
    def median_of_9(image, width, out):
        tile = cuda.shared.array((TILE_Y, TILE_X), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        channel, height = cuda.blockIdx.z, image.shape[0]
        left, top = cuda.blockIdx.x * BLOCK_X, cuda.blockIdx.y * BLOCK_Y
        for i in range(y, TILE_Y, BLOCK_Y):
            source = rule(top + i - HALF, height)
            for j in range(x, TILE_X, BLOCK_X):
                tile[i, j] = float32(image[source, rule(left + j - HALF, width), channel])
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if top + y < height and left + x < width:
            a = order(tile[y, x], tile[y + 1, x], tile[y + 2, x])
            b = order(tile[y, x + 1], tile[y + 1, x + 1], tile[y + 2, x + 1])
            c = order(tile[y, x + 2], tile[y + 1, x + 2], tile[y + 2, x + 2])
            low = max(a[0], max(b[0], c[0]))
            high = min(a[2], min(b[2], c[2]))
            result = middle(low, middle(a[1], b[1], c[1]), high)
            if HAS_NAN:
                for i in range(SIZE):
                    for j in range(SIZE):
                        cell = tile[y + i, x + j]
                        if cell != cell:
                            result = cell
            out[top + y, left + x, channel] = result

    @jit_for(block.threads)
    def median_of_25(image, width, out):
        tile = cuda.shared.array((TILE_Y, TILE_X), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        channel, height = cuda.blockIdx.z, image.shape[0]
        left, top = cuda.blockIdx.x * BLOCK_X, cuda.blockIdx.y * BLOCK_Y
        for i in range(y, TILE_Y, BLOCK_Y):
            source = rule(top + i - HALF, height)
            for j in range(x, TILE_X, BLOCK_X):
                tile[i, j] = float32(image[source, rule(left + j - HALF, width), channel])
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if top + y < height and left + x < width:
            a = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
            x += 1
            b = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
            x += 1
            c = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
            x += 1
            d = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
            x += 1
            e = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
            x -= 4
            p = order_5(a[0], b[0], c[0], d[0], e[0])
            q = order_5(a[1], b[1], c[1], d[1], e[1])
            r = order_5(a[2], b[2], c[2], d[2], e[2])
            s = order_5(a[3], b[3], c[3], d[3], e[3])
            t = order_5(a[4], b[4], c[4], d[4], e[4])
            low = max(max(p[3], q[2]), max(r[1], s[0]))
            high = min(min(q[4], r[3]), min(s[2], t[1]))
            result = middle(low, order_5(p[4], q[3], r[2], s[1], t[0])[2], high)
            if HAS_NAN:
                for i in range(SIZE):
                    for j in range(SIZE):
                        cell = tile[y + i, x + j]
                        if cell != cell:
                            result = cell
            out[top + y, left + x, channel] = result

    return median_of_9 if size == 3 else median_of_25


STEP = Step(
    lambda problem, block: kernel(problem.whole("size"), block, problem.is_float), shared_bytes=shared_bytes
)

VARIANT = cuda_variant(
    STEP,
    work=work,
    key="median-tiled",
    title="Sorting, tiled",
    operation="median",
    idea="The block loads its tile once; each thread finds the middle by a sorting network in registers.",
)
