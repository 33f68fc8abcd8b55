"""`match-tiled`: the windows of a block's positions overlap in one tile of shared memory.

Idea
    The block copies the cells that its positions look at, a channel at a time, to shared memory; all its
    threads read their windows there. Once for the means, and once more for the sums.
Who loads what
    Each cell of the tile is loaded twice for each channel. The patch is read from global memory, the same
    cell by all threads of a warp at once.
What it saves
    Against `match-naive`: 16 x 16 pixels and a block of 32 x 8 load 2 x 1,081 cells per channel for 256
    positions, 8.4 for each instead of 512.
Limit
    The patch decides the tile: with 64 x 64 pixels and 32 x 8 threads 27 KB, one or two blocks a
    multiprocessor. Each multiply-add still reads shared memory. The unrolled loops take 96 registers; of
    blocks of 1024 threads, which have 64 each, some values go through local memory (152 bytes per thread).

Source: COSC 407, "CUDA Memories and Performance Revisited", image correlation and tiling.
"""

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.layout import FLOAT_BYTES
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant
from engine.variants.operations.match_grid import OPERATIONS_PER_CELL, cells_of, match_arguments, positions
from engine.work.operations.find_patch import LEAST_SQUARES
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, jit_for


def tile_of(problem: OperationProblem, block: Block) -> tuple[int, int]:
    """Return rows and columns of a block's tile."""
    return block.y + problem.whole("height") - 1, block.x + problem.whole("width") - 1


def shared_bytes(problem: OperationProblem, block: Block) -> int:
    """Return the bytes of a block's tile, float32."""
    rows, columns = tile_of(problem, block)
    return rows * columns * FLOAT_BYTES


def _inside(length: int, positions: int, side: int, tile: int) -> int:
    """Return the cells along one axis that all tiles have inside the picture."""
    return sum(min(tile, length - first) for first in range(0, positions, side))


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each tile is loaded twice for each channel, each window twice, a cell once more."""
    (rows, columns, _), tile = problem.result_shape, tile_of(problem, block)
    cells = cells_of(problem)
    loads = _inside(problem.height, rows, block.y, tile[0]) * _inside(
        problem.width, columns, block.x, tile[1]
    )
    stores = STEP.launch(problem, block).blocks * tile[0] * tile[1]
    return operation_work(
        problem,
        picture_loads=2 * loads * problem.channels,
        other_loads=problem.values * cells,
        shared_loads=problem.values * (2 * cells + 1),
        shared_stores=2 * stores * problem.channels,
        flops=OPERATIONS_PER_CELL * problem.values * cells,
    )


@kernel_factory
def kernel(patch_rows: int, patch_columns: int, block: Block):
    """Return the kernel for a size of the patch and a block; any type of samples."""
    LEAST = np.float32(LEAST_SQUARES)
    ROWS, COLUMNS, BLOCK_X, BLOCK_Y = patch_rows, patch_columns, block.x, block.y
    TILE_Y, TILE_X = block.y + patch_rows - 1, block.x + patch_columns - 1

    @jit_for(block.threads)
    def match_tiled(image, patch, width, columns, out):
        tile = cuda.shared.array((TILE_Y, TILE_X), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        left, top = cuda.blockIdx.x * BLOCK_X, cuda.blockIdx.y * BLOCK_Y
        height, channels = image.shape[0], patch.shape[2]
        works = top + y < out.shape[0] and left + x < columns
        origin = total = float32(0.0)
        mean = above = below = float32(0.0)
        # Every channel for the mean, then every channel for the sums.
        for turn in range(2 * channels):
            channel = turn if turn < channels else turn - channels
            for i in range(y, TILE_Y, BLOCK_Y):
                for j in range(x, TILE_X, BLOCK_X):
                    cell = float32(0.0)
                    if top + i < height and left + j < width:
                        cell = float32(image[top + i, left + j, channel])
                    tile[i, j] = cell
            # No thread may read a cell before it is stored.
            cuda.syncthreads()
            if works and turn == 0:
                # A difference of near numbers is exact, however large they are.
                origin = tile[y, x]
            if works and turn < channels:
                for m in range(ROWS):
                    partial = float32(0.0)
                    for n in range(COLUMNS):
                        partial += tile[y + m, x + n] - origin
                    total += partial
                mean = total / float32(ROWS * COLUMNS * channels)
            elif works:
                for m in range(ROWS):
                    partial = partial_below = float32(0.0)
                    for n in range(COLUMNS):
                        difference = tile[y + m, x + n] - origin - mean
                        partial += difference * patch[m, n, channel]
                        partial_below += difference * difference
                    above += partial
                    below += partial_below
            # No thread may store the next channel's cells before all have read this one's.
            cuda.syncthreads()
        if works:
            score = float32(0.0)
            # A window of one value has no score.
            if below > LEAST:
                score = above / float32(sqrt(below))
            # 0, or NaN where a sample is NaN or infinite.
            out[top + y, left + x, 0] = score + (mean - mean)

    return match_tiled


STEP = Step(
    lambda problem, block: kernel(problem.whole("height"), problem.whole("width"), block),
    positions,
    match_arguments,
    shared_bytes,
)

VARIANT = cuda_variant(
    STEP,
    work=work,
    key="match-tiled",
    title="Tiled windows",
    operation="find-patch",
    idea="The block loads the cells of all its windows into shared memory, a channel at a time.",
)
