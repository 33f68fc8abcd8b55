"""`separable-l2`: two passes; shared memory holds the block's own cells, the aprons are left to L1 and L2.

Idea
    As `separable-l1`, but no thread loads an apron: each loads the one cell at its own position. Taps inside
    the block's cells are read from shared memory, taps in the aprons from global memory, where a neighbouring
    block has most likely just put them into the cache.
Who loads what
    One load per thread and pass for the tile; the threads near the block's edge load their apron taps again
    and again.
What it saves
    Against `separable-l1`: the steps of the loading and the room for the aprons. The price is a branch at
    every tap. In the vertical pass all threads of a warp of 32 take the same way, because they lie in one
    row; in the horizontal pass those near the edge do not.
Limit
    The smaller the block along a pass and the longer the factor, the more taps are apron: then it is
    `separable-l0` with a branch.

Source: G. R. Roberts, "CUDA: Convolution", lab report, section 3.3, L2. Its borders are zero only.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.unrolled import unrolled
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.problem import Work
from engine.variants.ladder.teaching import bytes_of_own_cells
from engine.variants.ladder.two_passes import two_pass_variant
from engine.variants.tiles.separable import line_of_taps, loads_along, two_pass_work
from engine.work.filtering.problem import Problem
from engine.work.filtering.work import taps_in_own_tile

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_for


def work(problem: Problem, block: Block) -> Work:
    """Return the work: one cell per thread and pass; taps in the tile read shared, others global memory."""

    def in_tile(length: int, side: int, mask_side: int, anchor: int, ghosts: bool) -> int:
        return taps_in_own_tile(length, side, mask_side, anchor)

    horizontal, vertical = loads_along(problem, block, line_of_taps)
    own_x, own_y = loads_along(problem, block, in_tile)
    return two_pass_work(
        problem,
        picture_loads=problem.samples + horizontal - own_x,
        scratch_loads=problem.samples + vertical - own_y,
        shared_loads=own_x + own_y,
        shared_stores=2 * problem.samples,
    )


@kernel_factory
def horizontal_kernel(border: Border, columns: int, block: Block):
    """Return the kernel along the rows for a border, a number of weights and a block."""
    rule = cuda_rule(border)
    BLOCK_X, BLOCK_Y, COLUMNS = block.x, block.y, columns

    @jit_for(block.threads)
    @unrolled
    def separable_l2_horizontal(image, factor, width, anchor, ghost_value, scratch):
        tile = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        inside = row < image.shape[0] and column < width

        # Load the block's own cells, one per thread.
        if inside:
            tile[ty, tx] = float32(image[row, column, channel])
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if inside:
            tile_left = column - tx
            tile_right = min(tile_left + BLOCK_X, width)
            total = float32(0.0)
            for n in range(COLUMNS):
                wanted = column + n - anchor
                value = ghost_value
                if wanted >= tile_left and wanted < tile_right:
                    value = tile[ty, wanted - tile_left]
                else:
                    source = rule(wanted, width)
                    if source >= 0:
                        value = float32(image[row, source, channel])
                total += value * factor[n]
            scratch[row, column, channel] = total

    return separable_l2_horizontal


@kernel_factory
def vertical_kernel(border: Border, rows: int, block: Block):
    """Return the kernel along the columns for a border, a number of weights and a block."""
    rule = cuda_rule(border)
    BLOCK_X, BLOCK_Y, ROWS = block.x, block.y, rows

    @jit_for(block.threads)
    @unrolled
    def separable_l2_vertical(scratch, factor, width, anchor, ghost_value, offset, out):
        tile = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = scratch.shape[0]
        inside = row < height and column < width

        # Load the block's own cells, one per thread.
        if inside:
            tile[ty, tx] = scratch[row, column, channel]
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if inside:
            tile_top = row - ty
            tile_bottom = min(tile_top + BLOCK_Y, height)
            total = float32(0.0)
            for m in range(ROWS):
                wanted = row + m - anchor
                value = ghost_value
                if wanted >= tile_top and wanted < tile_bottom:
                    value = tile[wanted - tile_top, tx]
                else:
                    source = rule(wanted, height)
                    if source >= 0:
                        value = scratch[source, column, channel]
                total += value * factor[m]
            out[row, column, channel] = total + offset

    return separable_l2_vertical


def kernels(problem: Problem, block: Block):
    """Return the kernels of the horizontal and of the vertical pass."""
    rows, columns = problem.mask_shape
    return horizontal_kernel(problem.border, columns, block), vertical_kernel(problem.border, rows, block)


VARIANT = two_pass_variant(
    kernels,
    lambda mask_shape, block: (bytes_of_own_cells(mask_shape, block),) * 2,
    key="separable-l2",
    title="Separable, aprons cached (L2)",
    idea="Two passes for masks that are one column times one row; shared memory holds only the block's own "
    "cells, the aprons come from global memory through the caches.",
    work=work,
)
