"""Rows and columns in one kernel, a tile per block: rows are filtered where they lie in shared memory.

What `separable-fused` does wherever shared memory has room for the tile. The block copies its input tile into
shared memory. Each row is filtered along itself by one warp, which puts the values where the samples were; 8
or 16 neighbouring results per thread share what they read, so a warp has two or four rows at once. Then each
thread goes down its column with 4 results of several rows in registers. The rows above and below the output
tile are filtered again by the neighbouring blocks: for masks of many rows a block moves down instead, and
fills one half of its tile while the other one still has the rows above.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import WEIGHTS, Launch, Pass
from engine.geometry.border import Border
from engine.results.work import Work
from engine.variants.ir.register_tile import VECTOR, TileShape, whole_vectors
from engine.variants.tiles.fused_pass import Factors32, fused_pass
from engine.variants.tiles.geometry import blocks_along, launch_of_samples, loads_of_tiles
from engine.variants.tiles.waves import MULTIPROCESSORS, rows_of_strips
from engine.variants.tiles.window_sums import ColumnWindows
from engine.work.filtering.problem import Problem
from engine.work.filtering.work import filter_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.constant_memory import jit_with_constant
    from engine.device.numba_cuda import cuda, float32
    from engine.variants.ir.device_function import SHARED_ALIGNMENT, waiter
    from engine.variants.separable_fused.column_filter import column_filter
    from engine.variants.tiles.accumulator import accumulator, row_store
    from engine.variants.tiles.result_storer import result_storer
    from engine.variants.tiles.tile_loader import tile_loader

WARPS = 8
OUT_SAMPLES = 128
SHARED_BYTES = 48 * 1024
# Mask rows up to which memory is the limit.
MOST_ROWS_OF_FOUR = 13
# Mask rows from which two vectors per thread are better than four: 21 x 21 takes 52 and 50 us, 25 x 25 57 and
# 65 (H200).
LEAST_ROWS_OF_TWO = 22
LEAST_RING_ROWS = 27
# Mask rows but one that half of a ring has room for above the first result; `fused_ring.py` takes larger
# masks.
MOST_RING_ROWS = 4 * WARPS + 1
# Tiles of several channels leave few rows of results then (27 x 27 RGB float32: 241 us, by `fused_ring` 163;
# 25 x 25 RGB of 8 bit: 206 and 187).
MOST_SIDE_OF_SEVERAL = 23
# Blocks that are resident on a multiprocessor at once.
RESIDENT = 4


@dataclass(frozen=True, slots=True)
class InPlaceShape:
    """The shape of a block's work."""

    along: TileShape  # For an input row: a mask of one row, `lanes` threads side by side.
    mask_rows: int
    rows: int  # Rows of results of a thread in one step.
    is_ring: bool  # whether the block moves down, half of its tile at a time; else it takes one step.

    @property
    def step_rows(self) -> int:
        """Rows of results of the block in one step."""
        return self.rows * self.along.warps

    @property
    def lot_rows(self) -> int:
        """Input rows that are filtered at once: half of a ring, or the tile; whole rounds of a warp."""
        if self.is_ring:
            return self.step_rows
        return -(-(self.step_rows + self.mask_rows - 1) // self.warp_rows) * self.warp_rows

    @property
    def tile_rows(self) -> int:
        """Rows of the tile."""
        return self.lot_rows * (2 if self.is_ring else 1)

    @property
    def warp_rows(self) -> int:
        """Rows that a warp filters at once."""
        return 32 // self.along.lanes

    @property
    def rounds(self) -> int:
        """Times that the warps of a block filter rows of a lot."""
        return -(-self.lot_rows // (self.along.warps * self.warp_rows))

    @property
    def down(self) -> ColumnWindows:
        """What a thread sums up down its columns, a vector in each row."""
        ring_rows = self.tile_rows if self.is_ring else 0
        return ColumnWindows(self.mask_rows, self.rows, VECTOR, self.along.tile_samples, ring_rows)

    @property
    def shared_bytes(self) -> int:
        """The tile."""
        return 4 * self.tile_rows * self.along.tile_samples

    @property
    def weights(self) -> int:
        """Both factors in constant memory."""
        return self.along.weights + whole_vectors(self.mask_rows)


def in_place_shape(problem: Problem) -> InPlaceShape | None:
    """Return the shape of a block's work: the fastest of those tried (H200); None for masks too large for it.

    More neighbouring results per thread share more of what it reads of a row, and are worth it where the mask
    is wide. More rows share the filtering of those above and below, but take the registers of other warps:
    where memory is the limit (up to 13 rows of float32) four are best (9 x 9: 35.9 us, six 36.8; 15 x 15 the
    other way round: 43.8 and 42.4). A ring filters no row twice but those above a strip, and waits for every
    step's: it pays for high masks, where there is work enough for all multiprocessors (31 x 31: 64 us,
    without 73; 25 x 25: 64 and 57).
    """
    rows, columns = problem.mask_shape
    if rows > MOST_RING_ROWS or (problem.channels > 1 and min(rows, columns) > MOST_SIDE_OF_SEVERAL):
        return None
    span = (columns - 1) * problem.channels
    # Integers cost more for each row that waits to be filtered: fewer lanes per row are better earlier.
    narrow, medium = (4, 8) if problem.itemsize == 4 else (0, 3)
    vectors = 1 if span <= narrow else 2 if span <= medium or rows >= LEAST_ROWS_OF_TWO else 4
    across = blocks_along(problem.width * problem.channels, OUT_SAMPLES)
    tiles = across * blocks_along(problem.height, 4 * WARPS)
    if rows >= LEAST_RING_ROWS and tiles >= 2 * MULTIPROCESSORS * RESIDENT:
        ring = _shape(problem, min(vectors, 2), 4, is_ring=True)
        if ring.shared_bytes <= SHARED_BYTES:
            return ring
    candidates = [_shape(problem, vectors, number, is_ring=False) for number in (4, 5, 6, 8)]
    fitting = [shape for shape in candidates if shape.shared_bytes <= SHARED_BYTES]
    if not fitting:
        return None
    if problem.itemsize == 4 and rows <= MOST_ROWS_OF_FOUR:
        return fitting[0]
    return min(fitting, key=_multiply_adds)


def _shape(problem: Problem, vectors: int, rows: int, *, is_ring: bool) -> InPlaceShape:
    left = problem.anchor[1] * problem.channels
    before, lanes = whole_vectors(left), OUT_SAMPLES // VECTOR // vectors
    mask_rows, columns = problem.mask_shape
    along = TileShape(1, columns, problem.channels, before, before - left, vectors, warps=WARPS, lanes=lanes)
    return InPlaceShape(along, mask_rows, rows, is_ring)


def _multiply_adds(shape: InPlaceShape) -> float:
    """Return about how many multiply-adds per result takes, with those of warps that are idle meanwhile."""
    filtered = shape.rounds * shape.along.warps * shape.warp_rows
    return filtered * shape.along.mask_columns / shape.step_rows + shape.mask_rows


def rows_of(problem: Problem, shape: InPlaceShape) -> int:
    """Return the rows of results of a block."""
    if not shape.is_ring:
        return shape.step_rows
    across = blocks_along(problem.width * problem.channels, OUT_SAMPLES)
    return rows_of_strips(problem, across, RESIDENT, step=shape.step_rows)


def launch_of(problem: Problem, shape: InPlaceShape) -> Launch:
    """Return the launch: blocks of 32 threads across."""
    rows = rows_of(problem, shape)
    return launch_of_samples(problem, OUT_SAMPLES, rows, WARPS, shape.shared_bytes, 4 * shape.weights)


def work_of(problem: Problem, shape: InPlaceShape) -> Work:
    """Return the work: a block filters its input rows, in whole lots, then its results down the columns."""
    across, height, along = launch_of(problem, shape).grid[0], rows_of(problem, shape), shape.along
    tops = range(0, problem.height, height)
    steps = [blocks_along(min(height, problem.height - top), shape.step_rows) for top in tops]
    filtered = [shape.lot_rows * (count + 1 if shape.is_ring else 1) for count in steps]
    cells = across * sum(filtered) * along.tile_samples
    lefts = [block * OUT_SAMPLES - along.before for block in range(across)]
    bands = [(top - problem.anchor[0], rows) for top, rows in zip(tops, filtered, strict=True)]
    lanes, threads = across * sum(filtered) * along.lanes, across * sum(steps) * along.threads
    return filter_work(
        problem,
        picture_loads=loads_of_tiles(problem, lefts, along.tile_samples, bands),
        shared_loads=lanes * along.window + threads * (shape.rows + shape.mask_rows - 1) * VECTOR,
        shared_stores=cells + lanes * along.across,
        constant_loads=lanes * along.mask_columns + threads * shape.mask_rows,
        multiply_adds=lanes * along.across * along.mask_columns
        + threads * shape.rows * VECTOR * shape.mask_rows,
    )


# What the compiler must know: few of them are in use at a time.
@kernel_factory
def kernel(border: Border, shape: InPlaceShape, itemsize: int, result_itemsize: int):
    """Return the kernel for a border, a shape of a block's work, and bytes per sample, in and out."""
    along = shape.along
    load = tile_loader(along, shape.lot_rows, itemsize, border.rule)
    wait_for_all, wait_for_earlier = waiter(pending=0), waiter(pending=1)
    filter_along, keep = accumulator(along, shape.weights), row_store(along)
    filter_down = column_filter(shape.down, along.weights, shape.weights)
    store = result_storer(shape.rows, VECTOR, result_itemsize)
    CHANNELS, BEFORE, PITCH, MIXED = along.channels, along.before, along.tile_samples, along.mixed
    CELLS, LOT_CELLS = shape.tile_rows * PITCH, shape.lot_rows * PITCH
    ROWS, STEP_ROWS, LOT_ROWS = shape.rows, shape.step_rows, shape.lot_rows
    LANES, WARP_ROWS, ROUND_ROWS = along.lanes, shape.warp_rows, along.warps * shape.warp_rows
    IS_RING, NOTHING = shape.is_ring, np.float32(0)

    @jit_with_constant(WEIGHTS, shape.weights)
    def correlate_in_place(image, along, down, width, anchor_row, strip_rows, ghost_value, offset, out):
        tile = cuda.shared.array(CELLS, float32, SHARED_ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        first = cuda.blockIdx.y * (strip_rows if IS_RING else STEP_ROWS)
        left = cuda.blockIdx.x * OUT_SAMPLES - BEFORE
        top = first - anchor_row
        load(tile, 0, image, samples, top, lane, warp, left, ghost_value)
        lots = 1
        if IS_RING:
            top += LOT_ROWS
            load(tile, LOT_CELLS, image, samples, top, lane, warp, left, ghost_value)
            lots = (min(strip_rows, out.shape[0] - first) + STEP_ROWS - 1) // STEP_ROWS + 1
        # The rows that a lane filters of each round, and where the vector of its results lies in a filtered
        # row.
        own_row, own_lane = warp * WARP_ROWS + lane // LANES, lane % LANES
        cell = (lane ^ (lane >> 3 & MIXED)) * VECTOR
        here, row = 0, first - STEP_ROWS if IS_RING else first
        for lot in range(lots):
            if IS_RING and lot == 0:
                wait_for_earlier()
            else:
                wait_for_all()
            # No thread may read a cell before the one that copies it has it there.
            cuda.syncthreads()
            for lot_row in range(own_row, LOT_ROWS, ROUND_ROWS):
                at = (here + lot_row) * PITCH
                values = filter_along(tile, at, own_lane, along, NOTHING)
                # All lanes have read what these values replace.
                cuda.syncwarp()
                keep(tile, at, own_lane, values)
            cuda.syncthreads()
            if IS_RING:
                # The half before this one is where the results of this step begin.
                here = LOT_ROWS - here
            if not IS_RING or lot > 0:
                sums = filter_down(tile, here + warp * ROWS, cell, down, offset)
                store(out, row + warp * ROWS, cuda.blockIdx.x * OUT_SAMPLES + lane * VECTOR, samples, sums)
                if lot + 1 < lots:
                    cuda.syncthreads()
                    top += LOT_ROWS
                    load(tile, here * PITCH, image, samples, top, lane, warp, left, ghost_value)
            row += STEP_ROWS

    return correlate_in_place


def pass_of(problem: Problem, shape: InPlaceShape, factors: Factors32, offset: float) -> Pass:
    """Return the pass for a mask that is one column times one row."""
    function = kernel(problem.border, shape, problem.itemsize, problem.result_itemsize)
    launch, rows = launch_of(problem, shape), rows_of(problem, shape)
    return fused_pass(function, problem, launch, rows, factors, shape.along.weights, offset)
