"""Rows and columns in one kernel, for masks of many rows: a block moves down, with filtered rows in a ring.

What `separable-fused` does where a tile has no room. A block takes 16 or 32 input rows at a time. Four or
eight threads filter each of them along itself, 16 neighbouring results per thread, into a ring of rows, of
which there are as many as the mask needs; then each thread filters a column of it down into 16 results while
the next input rows arrive. Input rows and the ring's rows have an odd number of vectors, so that threads meet
in no bank (`engine/variants/tiles/box_shape.py`). No row is filtered twice but those above a strip.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import WEIGHTS, Launch, Pass
from engine.geometry.border import Border
from engine.results.work import Work
from engine.variants.ir.register_tile import whole_vectors
from engine.variants.tiles.box_shape import SHARED_BYTES, BoxShape, loads_of_lots
from engine.variants.tiles.fused_pass import Factors32, fused_pass
from engine.variants.tiles.geometry import blocks_along, launch_of_samples
from engine.variants.tiles.waves import resident_blocks, rows_of_strips
from engine.work.filtering.problem import Problem
from engine.work.filtering.work import filter_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.constant_memory import jit_with_constant
    from engine.device.numba_cuda import cuda, float32
    from engine.variants.ir.device_function import SHARED_ALIGNMENT, waiter
    from engine.variants.separable_fused.line_filter import column_weigher, row_weigher
    from engine.variants.tiles.result_storer import result_storer
    from engine.variants.tiles.tile_loader import tile_loader
    from engine.variants.tiles.tile_sums import sums_store

# Neighbouring results of a thread along a row, and rows of a thread down a column: as many weights as each
# serves at once.
RESULTS = ROWS = 16
# Samples of a row of results, and warps: what was fastest of what was tried (H200;
# docs/experiments/separable-fused.md).
OF_ONE_CHANNEL, OF_SEVERAL_CHANNELS, SMALLEST = (64, 4), (128, 4), (64, 2)


@dataclass(frozen=True, slots=True)
class RingShape(BoxShape):
    """The shape of a block's work: that of `box` with a ring, and the factors in constant memory."""

    @property
    def along_weights(self) -> int:
        """Weights along the row, in whole vectors; those down the column come after them."""
        return whole_vectors(self.mask_columns)

    @property
    def weights(self) -> int:
        """All weights in constant memory."""
        return self.along_weights + whole_vectors(self.mask_rows)


def ring_shape(problem: Problem) -> RingShape:
    """Return the shape of a block's work.

    The smallest one has room for every mask up to 63 x 63 on four channels. On several channels float32 gains
    by wide ones, which read less beside their results (RGB 31 x 31: 206 us), and 8 and 16 bit by many small
    blocks (uint8 232 instead of 273 us).
    """
    size = OF_ONE_CHANNEL
    if problem.channels > 1:
        size = OF_SEVERAL_CHANNELS if problem.itemsize == 4 else SMALLEST
    shape = _shape(problem, *size)
    return shape if shape.shared_bytes <= SHARED_BYTES else _shape(problem, *SMALLEST)


def _shape(problem: Problem, samples: int, warps: int) -> RingShape:
    return RingShape(
        *problem.mask_shape,
        problem.channels,
        problem.anchor[1] * problem.channels,
        out_samples=samples,
        results=RESULTS,
        rows=ROWS,
        columns=1,
        warps=warps,
        is_ring=True,
    )


def rows_of(problem: Problem, shape: RingShape) -> int:
    """Return the rows of results of a block."""
    across = blocks_along(problem.width * problem.channels, shape.out_samples)
    resident = resident_blocks(shape.shared_bytes)
    return rows_of_strips(problem, across, resident, step=shape.step_rows, least=problem.mask_shape[0] // 2)


def launch_of(problem: Problem, shape: RingShape) -> Launch:
    """Return the launch: blocks of 32 threads across."""
    block_of = (shape.out_samples, rows_of(problem, shape), shape.warps)
    return launch_of_samples(problem, *block_of, shape.shared_bytes, 4 * shape.weights)


def work_of(problem: Problem, shape: RingShape) -> Work:
    """Return the work: a block filters its input rows, in whole lots, then its results down the columns."""
    across, height = launch_of(problem, shape).grid[0], rows_of(problem, shape)
    loads, cells, jobs, threads = loads_of_lots(problem, shape, across, height)
    rows, columns = problem.mask_shape
    return filter_work(
        problem,
        picture_loads=loads,
        shared_loads=jobs * shape.along.read + threads * shape.down.windows.samples,
        shared_stores=cells + jobs * shape.results,
        constant_loads=jobs * columns + threads * rows,
        multiply_adds=jobs * shape.results * columns + threads * shape.rows * rows,
    )


# What the compiler must know: few of them are in use at a time.
@kernel_factory
def kernel(border: Border, shape: RingShape, itemsize: int, result_itemsize: int):
    """Return the kernel for a border, a shape of a block's work, and bytes per sample, in and out."""
    load = tile_loader(shape.input, shape.lot_rows, itemsize, border.rule)
    wait = waiter(pending=0)
    filter_along, keep = row_weigher(shape.along, shape.weights), sums_store(shape.results)
    filter_down = column_weigher(shape.down, shape.kept_at, shape.along_weights, shape.weights)
    store = result_storer(shape.rows, shape.columns, result_itemsize)
    CELLS, PITCH, KEPT_PITCH, KEPT_AT = shape.shared_cells, shape.pitch, shape.kept_pitch, shape.kept_at
    CHANNELS, BEFORE, OUT_SAMPLES = shape.channels, shape.before, shape.out_samples
    WARP_ROWS, STEP_ROWS, RING_ROWS = shape.warp_rows, shape.step_rows, shape.ring_rows
    EARLY_STEPS, EARLY_ROWS, COLUMN_THREADS = shape.early_steps, shape.early_rows, shape.column_threads

    @jit_with_constant(WEIGHTS, shape.weights)
    def correlate_ring(image, along, down, width, anchor_row, strip_rows, ghost_value, offset, out):
        # Input rows, and the ring after them.
        tile = cuda.shared.array(CELLS, float32, SHARED_ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        first = cuda.blockIdx.y * strip_rows
        first_sample = cuda.blockIdx.x * OUT_SAMPLES
        left, top = first_sample - BEFORE, first - anchor_row - EARLY_ROWS
        load(tile, 0, image, samples, top, lane, warp, left, ghost_value)
        lots = (min(strip_rows, out.shape[0] - first) + STEP_ROWS - 1) // STEP_ROWS + EARLY_STEPS
        # Threads that load vectors at once lie in as many rows as leave them no bank in common.
        lot_row, across = warp * WARP_ROWS + lane % WARP_ROWS, lane // WARP_ROWS * RESULTS
        thread = warp * 32 + lane
        column, own_rows = thread % COLUMN_THREADS, thread // COLUMN_THREADS * ROWS
        row = first - EARLY_STEPS * STEP_ROWS + own_rows
        # Where the next filtered row goes, and where this thread's columns begin.
        there, begin = (RING_ROWS - EARLY_ROWS if EARLY_ROWS else 0), own_rows
        for lot in range(lots):
            wait()
            # No thread may read a cell before the one that copies it has it there, or replace a row that
            # others still read.
            cuda.syncthreads()
            values = filter_along(tile, lot_row * PITCH + across, along)
            kept = there + lot_row
            kept = kept - RING_ROWS if kept >= RING_ROWS else kept
            keep(tile, KEPT_AT + kept * KEPT_PITCH + across, values)
            cuda.syncthreads()
            if lot + 1 < lots:
                top += STEP_ROWS
                load(tile, 0, image, samples, top, lane, warp, left, ghost_value)
            if lot >= EARLY_STEPS:
                results = filter_down(tile, begin, column, down, offset)
                store(out, row, first_sample + column, samples, results)
                begin += STEP_ROWS
                begin = begin - RING_ROWS if begin >= RING_ROWS else begin
            there += STEP_ROWS
            there = there - RING_ROWS if there >= RING_ROWS else there
            row += STEP_ROWS

    return correlate_ring


def pass_of(problem: Problem, shape: RingShape, factors: Factors32, offset: float) -> Pass:
    """Return the pass for a mask that is one column times one row."""
    function = kernel(problem.border, shape, problem.itemsize, problem.result_itemsize)
    launch, rows = launch_of(problem, shape), rows_of(problem, shape)
    return fused_pass(function, problem, launch, rows, factors, shape.along_weights, offset)
