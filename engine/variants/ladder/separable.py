"""`separable-l0`, `-l1` and `-l2`: a pass along the rows and one along the columns, by what is shared."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.device.kernel_factory import kernel_factory, unrolled
from engine.device.kernel_names import cuda, cuda_rule, float32, jit_for, jit_within
from engine.device.launches import Kernel, Launch, Operand, Pass, registers_for
from engine.geometry.block import Block, Limits, Refusal, blocks_along
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.variants import mask_classes
from engine.variants.ladder.teaching import bytes_of_own_cells, teaching_variant
from engine.variants.mask_classes import RANK_1, line_of_taps, loads_along, required_factors, two_pass_work
from engine.variants.passes import filter_pass, one_launch, refuse_launch
from engine.work.filtering.variants import Variant, taps_in_own_tile, tile_cells_inside
from engine.work.problem import Problem


def two_pass_variant(
    horizontal: Callable[[Border, int, Any], Kernel],
    vertical: Callable[[Border, int, Any], Kernel],
    shared_bytes: Callable[[tuple[int, int], Block], tuple[int, int]] = lambda mask_shape, block: (0, 0),
    *,
    made_for: Callable[[Block], Any] = lambda block: block,
    **traits: Any,
) -> Variant:
    """Return the variant of a horizontal and a vertical kernel, each with one thread per result.

    Their factories take a border, a number of weights and what `made_for` makes of a block: by default the
    block. `shared_bytes` says, for a mask shape and a block, how much static shared memory a block uses in
    either pass. `horizontal` takes (image, factor, width, anchor, ghost_value, scratch), `vertical` takes
    (scratch, factor, width, anchor, ghost_value, offset, out).
    """

    def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
        horizontal, vertical = shared_bytes(problem.mask_shape, block)
        return one_launch(problem, block, horizontal) + one_launch(problem, block, vertical)

    def refuse(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
        def larger(candidate: Block) -> int:
            return max(shared_bytes(problem.mask_shape, candidate))

        return mask_classes.refuse_mask(mask) or refuse_launch(problem, mask, block, limits, larger)

    def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
        (rows, columns), own, factors = problem.mask_shape, made_for(block), required_factors(mask)
        ghosts, ghost_row = np.float32(problem.ghost_value), mask_classes.ghost_row_value(problem, factors)
        row_numbers = (problem.width, problem.anchor[1], ghosts)
        column_numbers = (problem.width, problem.anchor[0], ghost_row, np.float32(mask.offset))
        along = (Operand.IMAGE, factors.row, *row_numbers, Operand.SCRATCH)
        down = (Operand.SCRATCH, factors.column, *column_numbers, Operand.OUT)
        kernels = horizontal(problem.border, columns, own), vertical(problem.border, rows, own)
        steps = zip(kernels, plan(problem, block), (along, down), strict=True)
        return tuple(filter_pass(kernel, problem, launch, arguments) for kernel, launch, arguments in steps)

    return teaching_variant(
        passes, plan=plan, unsupported=refuse, sum_order=mask_classes.order_of_factors, **RANK_1, **traits
    )


@kernel_factory
def l0_horizontal(border: Border, columns: int, registers: int | None):
    """`separable-l0`: a column times a row, applied one after the other from global memory.

    Idea
        If the mask is one column times one row, the picture is filtered along its rows with the row, and what
        comes out along its columns with the column: two passes, two kernels, float32 values in global memory
        between them.
    Who loads what
        Each thread of a pass loads all taps along its own line from global memory, as in `naive`.
    What it saves
        Against `naive`: rows + columns instead of rows x columns multiply-adds and loads per result (31 x 31:
        62 instead of 961). The price is one more store and load of the whole picture between the passes.
    Limit
        Only masks of rank 1. Neighbouring threads ask for the same cells again, all from global memory.

    Source: G. R. Roberts, "CUDA: Convolution", lab report, section 3.1, L0. Its borders are zero only.
    """
    rule, COLUMNS = cuda_rule(border), columns

    @jit_within(registers)
    @unrolled
    def separable_l0_horizontal(image, factor, width, anchor, ghost_value, scratch):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        total = float32(0.0)
        for n in range(COLUMNS):
            source = rule(column + n - anchor, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            total += value * factor[n]
        scratch[row, column, channel] = total

    return separable_l0_horizontal


@kernel_factory
def l0_vertical(border: Border, rows: int, registers: int | None):
    """Return the kernel along the columns for a border, a number of weights and at most so many registers."""
    rule, ROWS = cuda_rule(border), rows

    @jit_within(registers)
    @unrolled
    def separable_l0_vertical(scratch, factor, width, anchor, ghost_value, offset, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = scratch.shape[0]
        if row >= height or column >= width:
            return
        total = float32(0.0)
        for m in range(ROWS):
            source = rule(row + m - anchor, height)
            value = ghost_value
            if source >= 0:
                value = scratch[source, column, channel]
            total += value * factor[m]
        out[row, column, channel] = total + offset

    return separable_l0_vertical


L0 = two_pass_variant(
    l0_horizontal,
    l0_vertical,
    made_for=lambda block: registers_for(block.threads),
    key="separable-l0",
    title="Separable, global memory (L0)",
    idea="Two passes, along the rows and along the columns, for masks that are one column times one row: "
    "rows + columns multiply-adds per result, everything in global memory.",
    work=lambda problem, block: two_pass_work(problem, *loads_along(problem, block, line_of_taps)),
)


def l1_work(problem: Problem, block: Block) -> Work:
    """Return the work: each block loads its cells and aprons once per pass; each tap reads shared memory."""

    def in_tiles(length: int, side: int, mask_side: int, anchor: int, ghosts: bool) -> int:
        """Cells of all tiles along a line: every result's own one, and the aprons of every block."""
        return length + blocks_along(length, side) * (mask_side - 1)

    def loaded(length: int, side: int, mask_side: int, anchor: int, ghosts: bool) -> int:
        return (tile_cells_inside if ghosts else in_tiles)(length, side, mask_side, anchor, ghosts)

    return two_pass_work(
        problem,
        *loads_along(problem, block, loaded),
        shared_loads=problem.samples * sum(problem.mask_shape),
        shared_stores=sum(loads_along(problem, block, in_tiles)),
    )


@kernel_factory
def l1_horizontal(border: Border, columns: int, block: Block):
    """`separable-l1`: two passes; each block loads its cells and their aprons into shared memory together.

    Idea
        As `separable-l0`, but in each pass the block first copies what it needs into shared memory. Each pass
        reaches along one axis only, so its apron is one-dimensional: left and right of the block, then above
        and below it.
    Who loads what
        Each thread loads the cell at its own position, and the cells one level before and after it that
        belong to the apron: the thread's index moved by a whole block, as often as the apron is wide. After a
        barrier every tap is read from shared memory.
    What it saves
        Against `separable-l0`: (bx + columns - 1) / bx instead of `columns` loads per result along the rows,
        and (by + rows - 1) / by instead of `rows` along the columns. The tiles are far smaller than that of
        `tiled`.
    Limit
        A flat block has few rows to share its vertical apron with: 32 x 8 threads and 15 rows load 2.75 cells
        per result.

    Source: G. R. Roberts, "CUDA: Convolution", lab report, section 3.2, L1. Its borders are zero only.
    """
    rule, COLUMNS = cuda_rule(border), columns
    BLOCK_X, BLOCK_Y = block.x, block.y
    TILE_COLUMNS = BLOCK_X + COLUMNS - 1

    @jit_for(block.threads)
    @unrolled
    def separable_l1_horizontal(image, factor, width, anchor, ghost_value, scratch):
        tile = cuda.shared.array((BLOCK_Y, TILE_COLUMNS), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        block_left = column - tx
        results = min(BLOCK_X, width - block_left)

        # Load the left apron, the block's own cells and the right apron, a whole block further at each step.
        if row < height:
            leftmost = tx - (anchor + BLOCK_X - 1) // BLOCK_X * BLOCK_X
            for cell in range(leftmost, results + COLUMNS - 1 - anchor, BLOCK_X):
                if cell >= -anchor:
                    source = rule(block_left + cell, width)
                    value = ghost_value
                    if source >= 0:
                        value = float32(image[row, source, channel])
                    tile[ty, anchor + cell] = value
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if row < height and column < width:
            total = float32(0.0)
            for n in range(COLUMNS):
                total += tile[ty, tx + n] * factor[n]
            scratch[row, column, channel] = total

    return separable_l1_horizontal


@kernel_factory
def l1_vertical(border: Border, rows: int, block: Block):
    """Return the kernel along the columns for a border, a number of weights and a block."""
    rule, ROWS = cuda_rule(border), rows
    BLOCK_X, BLOCK_Y = block.x, block.y
    TILE_ROWS = BLOCK_Y + ROWS - 1

    @jit_for(block.threads)
    @unrolled
    def separable_l1_vertical(scratch, factor, width, anchor, ghost_value, offset, out):
        tile = cuda.shared.array((TILE_ROWS, BLOCK_X), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = scratch.shape[0]
        block_top = row - ty
        results = min(BLOCK_Y, height - block_top)

        # Load the top apron, the block's own cells and the bottom apron, a whole block further at each step.
        if column < width:
            topmost = ty - (anchor + BLOCK_Y - 1) // BLOCK_Y * BLOCK_Y
            for cell in range(topmost, results + ROWS - 1 - anchor, BLOCK_Y):
                if cell >= -anchor:
                    source = rule(block_top + cell, height)
                    value = ghost_value
                    if source >= 0:
                        value = scratch[source, column, channel]
                    tile[anchor + cell, tx] = value
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if row < height and column < width:
            total = float32(0.0)
            for m in range(ROWS):
                total += tile[ty + m, tx] * factor[m]
            out[row, column, channel] = total + offset

    return separable_l1_vertical


L1 = two_pass_variant(
    l1_horizontal,
    l1_vertical,
    # Float32 whatever the picture's type.
    lambda mask_shape, block: (
        block.y * (block.x + mask_shape[1] - 1) * 4,
        (block.y + mask_shape[0] - 1) * block.x * 4,
    ),
    key="separable-l1",
    title="Separable, aprons shared (L1)",
    idea="Two passes for masks that are one column times one row; in each the block loads its cells and the "
    "aprons along that axis into shared memory together.",
    work=l1_work,
)


def l2_work(problem: Problem, block: Block) -> Work:
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
def l2_horizontal(border: Border, columns: int, block: Block):
    """`separable-l2`: two passes; shared memory holds the block's cells, the aprons are left to L1 and L2.

    Idea
        As `separable-l1`, but no thread loads an apron: each loads the one cell at its own position. Taps
        inside the block's cells are read from shared memory, taps in the aprons from global memory, where a
        neighbouring block has most likely just put them into the cache.
    Who loads what
        One load per thread and pass for the tile; the threads near the block's edge load their apron taps
        again and again.
    What it saves
        Against `separable-l1`: the steps of the loading and the room for the aprons. The price is a branch at
        every tap. In the vertical pass all threads of a warp of 32 take the same way, because they lie in one
        row; in the horizontal pass those near the edge do not.
    Limit
        The smaller the block along a pass and the longer the factor, the more taps are apron: then it is
        `separable-l0` with a branch.

    Source: G. R. Roberts, "CUDA: Convolution", lab report, section 3.3, L2. Its borders are zero only.
    """
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
def l2_vertical(border: Border, rows: int, block: Block):
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


L2 = two_pass_variant(
    l2_horizontal,
    l2_vertical,
    lambda mask_shape, block: (bytes_of_own_cells(mask_shape, block),) * 2,
    key="separable-l2",
    title="Separable, aprons cached (L2)",
    idea="Two passes for masks that are one column times one row; shared memory holds only the block's own "
    "cells, the aprons come from global memory through the caches.",
    work=l2_work,
)
