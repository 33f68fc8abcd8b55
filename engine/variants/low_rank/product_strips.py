"""A sum of columns times rows in one kernel, a strip per warp: sums that wait for rows stay in registers.

Each warp streams down a strip of 128 samples, by itself: no warp waits for another. The rows of the strip,
with what the mask reaches over on both sides, are copied to shared memory of the warp's own, a group of rows
at a time, one group ahead (`strip_loader.py`). A thread filters 4 neighbouring samples
of a row along the row and adds them at once to the results of all rows that have this one under their mask
(`product_sums.py`): 4 sums for each mask row, in registers. The warps of a block stream down side by side, so
that what one strip reads of the next one's samples is in L1. Strips are as high as leaves all multiprocessors
a warp or more to each scheduler; the rows that the mask reaches over below a strip are filtered again by the
warp below.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import WEIGHTS, Pass
from engine.geometry.border import Border
from engine.results.work import Work
from engine.variants.ir.register_tile import VECTOR, TileShape, whole_vectors
from engine.variants.low_rank.strip_shape import LANES, STRIP_SAMPLES, WARPS, StripGrid, StripShape
from engine.variants.tiles.fused_pass import fused_pass
from engine.work.filtering.problem import Problem
from engine.work.filtering.work import filter_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.constant_memory import jit_with_constant
    from engine.device.numba_cuda import cuda, float32
    from engine.variants.ir.device_function import SHARED_ALIGNMENT, closer, waiter, zero_accumulators
    from engine.variants.low_rank.product_sums import streaming_accumulator, strip_storer
    from engine.variants.low_rank.strip_loader import strip_columns, strip_loader

MOST_ROWS = 33
"""Mask rows whose sums a thread can keep: 4 registers each, of 255."""

SHARED_BYTES = 48 * 1024
# What the instruction cache does not hold runs at a third to three quarters of the speed (H200, past 21 KB).
MOST_CODE_BYTES = 18 * 1024


def shape_of(problem: Problem, rank: int) -> StripShape:
    """Return the shape of a warp's work.

    A group has as many rows as the instruction cache takes the multiply-adds of, at most 4. One group is
    under way: two or three need shared memory that L1 then lacks for what neighbouring strips share (5 x 5:
    41.6, 48.7 and 49.4 us, H200).
    """
    rows, columns = problem.mask_shape
    left = problem.anchor[1] * problem.channels
    along = TileShape(1, columns, problem.channels, whole_vectors(left), whole_vectors(left) - left)
    row_code_bytes = 16 * VECTOR * rank * (rows + columns)
    most_rows = next((count for count in (4, 2) if count * row_code_bytes <= MOST_CODE_BYTES), 1)
    shapes = [
        StripShape(along=along, mask_rows=rows, rank=rank, group_rows=group_rows)
        for group_rows in range(most_rows, 0, -1)
    ]
    return next((shape for shape in shapes if shape.shared_bytes <= SHARED_BYTES), shapes[-1])


def grid_of(problem: Problem, rank: int) -> StripGrid:
    """Return how strips cover a picture."""
    return StripGrid(problem, shape_of(problem, rank))


def work_of(problem: Problem, rank: int) -> Work:
    """Return the work: each strip filters the rows under its results and those that the mask reaches over."""
    grid, weights = grid_of(problem, rank), rank * sum(problem.mask_shape)
    rows, threads = grid.input_rows, grid.across * LANES
    return filter_work(
        problem,
        picture_loads=grid.loads,
        shared_loads=threads * rows * grid.shape.along.window,
        shared_stores=grid.row_cells * rows,
        constant_loads=threads * sum(grid.groups) * weights,
        multiply_adds=threads * rows * VECTOR * weights,
    )


# What the compiler must know: few of them are in use at a time.
@kernel_factory
def kernel(border: Border, shape: StripShape, itemsize: int, result_itemsize: int):
    """Return the kernel for a border, a shape of a warp's work, and bytes per sample, in and out."""
    columns_of = strip_columns(shape.along, border.rule, itemsize)
    load = strip_loader(shape.along, shape.group_rows, itemsize, border.rule)
    wait, close = waiter(pending=0), closer()
    zeros, accumulate = zero_accumulators(shape.kept), streaming_accumulator(shape)
    store = strip_storer(shape.group_rows, result_itemsize)
    CHANNELS, BEFORE = shape.along.channels, shape.along.before
    BLOCK_CELLS, RING_CELLS, GROUP_CELLS = WARPS * shape.ring_cells, shape.ring_cells, shape.group_cells
    ROWS_BEFORE, GROUP_ROWS = shape.mask_rows - 1, shape.group_rows

    @jit_with_constant(WEIGHTS, shape.weights, launch_bounds=(LANES * WARPS, shape.resident))
    def correlate_strips(image, along, down, width, anchor_row, strip_rows, ghost_value, offset, out):
        tile = cuda.shared.array(BLOCK_CELLS, float32, SHARED_ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        left = (cuda.blockIdx.x * cuda.blockDim.y + warp) * STRIP_SAMPLES
        first = cuda.blockIdx.y * strip_rows
        end = min(first + strip_rows, out.shape[0])
        groups = (end - first + ROWS_BEFORE + GROUP_ROWS - 1) // GROUP_ROWS
        # The last block may have warps past the picture's width.
        steps = groups + 1 if left < samples else 0
        ring = warp * RING_CELLS
        ring_end = ring + RING_CELLS
        # Where the next group that is loaded lies, and the next one that is filtered.
        there, here = ring, ring
        # The first input row of the one, and the first row that the other completes.
        top, row = first - anchor_row, first - ROWS_BEFORE
        columns = columns_of(samples, lane, left - BEFORE)
        accumulators = zeros()
        for step in range(steps):
            wait()
            cuda.syncwarp()
            if step < groups:
                load(tile, there, image, samples, top, lane, left - BEFORE, columns, ghost_value)
            else:
                close()
            top += GROUP_ROWS
            there = ring if there + GROUP_CELLS == ring_end else there + GROUP_CELLS
            if step >= 1:
                results, accumulators = accumulate(tile, here, lane, accumulators, along, down)
                store(out, row, first, end, left + lane * VECTOR, samples, results, offset)
                row += GROUP_ROWS
                here = ring if here + GROUP_CELLS == ring_end else here + GROUP_CELLS

    return correlate_strips


def pass_of(problem: Problem, columns: NDArray[np.float32], rows: NDArray[np.float32], offset: float) -> Pass:
    """Return the pass for columns of shape (mask rows, rank) times rows of shape (rank, mask columns)."""
    grid = grid_of(problem, len(rows))
    function = kernel(problem.border, grid.shape, problem.itemsize, problem.result_itemsize)
    pitch = grid.shape.along.weight_pitch
    return fused_pass(function, problem, grid.launch(), grid.rows, (columns, rows), pitch, offset)
