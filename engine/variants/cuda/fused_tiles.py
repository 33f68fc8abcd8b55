"""Rows and columns in one kernel, a tile a block: what the first pass gives stays in shared memory.

What `separable-fused` does with masks whose tile is too large to be filtered in place. The block walks
down its input tile a few rows at a time: while it filters the present ones along the row, the next one or two lots are
copied (`engine/variants/emit/cuda_tile_loader.py`). A thread filters 4 neighbouring results of one or two rows at once from
registers and keeps them in shared memory. Then each thread walks down that with 4 results of several rows in registers. The
rows above and below the output tile are filtered again by the neighbouring blocks.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import types

from engine.border import Border
from engine.device.constant_memory import jit_with_constant
from engine.device.cuda_kernels import float32, image_type, result_type
from engine.device.kept_kernels import kept_on_disk
from engine.device.numba_cuda import SIMULATED, cuda
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.metrics.traffic import cells_inside
from engine.problem import Problem
from engine.variants.contract import Launch, Pass, Place
from engine.variants.cuda.geometry import blocks_along
from engine.variants.emit.cuda_accumulator import accumulator
from engine.variants.emit.cuda_async_copy import closer, waiter
from engine.variants.emit.cuda_constants import WEIGHTS
from engine.variants.emit.cuda_ir import hidden
from engine.variants.emit.cuda_result_storer import result_storer
from engine.variants.emit.cuda_row_keeper import row_keeper
from engine.variants.emit.cuda_tile_loader import tile_loader
from engine.variants.emit.register_tile_shape import VECTOR, TileShape
from engine.work import Work, filter_work

WARPS = 4
SHARED_BYTES = 48 * 1024
# Samples of input rows that a thread holds at once in the first pass.
MOST_WINDOW_SAMPLES = 80


@dataclass(frozen=True, slots=True)
class FusedShape:
    """The shape of a block's work.

    Parameters
    ----------
    along : TileShape
        Of the first pass: one mask row over the rows that a warp filters at once.
    down : TileShape
        Of the second pass: one mask column over what the first pass kept.
    ahead : int
        Parts of the input tile that are under way while one is filtered.
    """

    along: TileShape
    down: TileShape
    ahead: int

    @property
    def part_rows(self) -> int:
        """Input rows that the block loads and filters at once."""
        return self.along.step_rows

    @property
    def parts(self) -> int:
        """Times that it does so."""
        return -(-self.down.tile_rows // self.part_rows)

    @property
    def part_cells(self) -> int:
        """Cells of a part in shared memory."""
        return self.part_rows * self.along.tile_samples

    @property
    def tile_cells(self) -> int:
        """Cells of all parts that are in shared memory at once."""
        return (self.ahead + 1) * self.part_cells

    @property
    def kept_cells(self) -> int:
        """Values between the passes."""
        return self.parts * self.part_rows * self.down.tile_samples

    @property
    def shared_bytes(self) -> int:
        """The parts that are there and under way, and all values between the passes."""
        return 4 * (self.tile_cells + self.kept_cells)

    @property
    def weights(self) -> int:
        """Both factors in constant memory."""
        return self.along.weights + self.down.weights


def fused_shape(mask_shape: tuple[int, int], anchor_column: int, channels: int) -> FusedShape:
    """Return the shape of a block's work: as many rows of results a thread as shared memory allows, up to 12.

    More rows share the filtering of those above and below the tile: a mask of 15 rows with 12 rows a thread takes 1.3 times
    the first pass, one of 31 rows with 8 twice.
    """
    rows, columns = mask_shape
    left = anchor_column * channels
    before = -(-left // VECTOR) * VECTOR

    def shape(rows_along: int, rows_down: int, ahead: int) -> FusedShape:
        along = TileShape(1, columns, channels, before, before - left, 1, rows_along, WARPS, 1, 1)
        down = TileShape(rows, 1, 1, 0, 0, 1, rows_down, WARPS, 1, min(rows, rows_down))
        return FusedShape(along, down, ahead)

    # Two rows at once halve the loads of weights; one leaves room for masks of many rows.
    candidates = [shape(2, down, ahead) for ahead in (2, 1) for down in (12, 10, 8)]
    candidates += [shape(1, down, ahead) for down in (12, 10, 8, 6, 4, 2, 1) for ahead in (2, 1)]
    fitting = [
        candidate
        for candidate in candidates
        if candidate.shared_bytes <= SHARED_BYTES
        and candidate.along.window * candidate.along.rows <= MOST_WINDOW_SAMPLES
    ]
    smallest = [candidate for candidate in candidates if candidate.shared_bytes <= SHARED_BYTES]
    return (fitting or smallest or candidates[-1:])[0]


def shape_of(problem: Problem) -> FusedShape:
    """Return the shape of a block's work for a problem."""
    return fused_shape(problem.mask_shape, problem.anchor[1], problem.channels)


def out_rows(problem: Problem) -> int:
    """Return the rows of results of a block."""
    return shape_of(problem).down.out_rows


def launch_of(problem: Problem) -> Launch:
    """Return the launch: blocks of 32 threads across."""
    shape = shape_of(problem)
    grid = (
        blocks_along(problem.width * problem.channels, shape.down.out_samples),
        blocks_along(problem.height, shape.down.out_rows),
        1,
    )
    return Launch(grid, (32, WARPS, 1), shape.shared_bytes, 4 * shape.weights)


def work_of(problem: Problem) -> Work:
    """Return the work: a block filters its whole input tile along the rows, and its output tile down the columns."""
    shape, launch = shape_of(problem), launch_of(problem)
    rows, columns = problem.mask_shape
    threads, parts = launch.blocks * 32 * WARPS, shape.parts
    cells = launch.blocks * parts * shape.part_cells
    loaded = _cells_of_the_picture(problem, shape, launch) if problem.border.has_ghost_cells else cells
    walked = shape.down.rows + rows - 1
    return filter_work(
        problem,
        picture_loads=loaded,
        shared_loads=threads * (parts * shape.along.rows * shape.along.window + walked * VECTOR),
        shared_stores=cells + launch.blocks * shape.kept_cells,
        constant_loads=threads * (parts * columns + rows),
        multiply_adds=threads * VECTOR * (parts * shape.along.rows * columns + shape.down.rows * rows),
    )


def _cells_of_the_picture(problem: Problem, shape: FusedShape, launch: Launch) -> int:
    """Return the cells of all tiles that lie in the picture."""
    across, down = launch.grid[:2]
    along, rows = shape.along, shape.parts * shape.part_rows
    lefts = (index * along.out_samples - along.before for index in range(across))
    tops = (index * shape.down.out_rows - problem.anchor[0] for index in range(down))
    samples = problem.width * problem.channels
    columns = sum(cells_inside(left, left + along.tile_samples, samples) for left in lefts)
    return columns * sum(cells_inside(top, top + rows, problem.height) for top in tops)


# What the compiler must know: few of them are in use at a time.
@lru_cache(maxsize=64)
@kept_on_disk
def kernel(border: Border, shape: FusedShape, itemsize: int, result_itemsize: int):
    """Return the kernel for a border, a shape of a block's work, and the bytes of a sample of picture and result."""
    load = tile_loader(shape.along, shape.part_rows, itemsize, border.rule)
    wait, close = waiter(pending=shape.ahead - 1), closer()
    filter_along = accumulator(shape.along, all_weights=shape.weights)
    filter_down = accumulator(
        shape.down, first_weight=shape.along.weights, all_weights=shape.weights, is_one_chain=True
    )
    keep = row_keeper(shape.along, shape.down.tile_samples)
    store = result_storer(shape.down, result_itemsize)
    ahead_of, parts_of = hidden(shape.ahead), hidden(shape.parts)
    CHANNELS, BEFORE = shape.along.channels, shape.along.before
    # Vectors of 16 bytes need it; the simulator knows no alignment.
    ALIGNMENT, NOTHING = None if SIMULATED else 16, np.float32(0)
    PARTS, PART_ROWS, PART_CELLS = shape.parts, shape.part_rows, shape.part_cells
    TILE_CELLS, KEPT_CELLS, KEPT_SAMPLES = shape.tile_cells, shape.kept_cells, shape.down.tile_samples
    AHEAD = shape.ahead
    ROWS_ALONG, CELLS_ALONG = shape.along.rows, shape.along.rows * shape.along.tile_samples
    ROWS_DOWN, OUT_ROWS, OUT_SAMPLES = shape.down.rows, shape.down.out_rows, shape.down.out_samples

    @jit_with_constant(WEIGHTS, shape.weights)
    def correlate_tiles(image, along, down, width, anchor_row, anchor_column, ghost_value, offset, out):
        tile = cuda.shared.array(TILE_CELLS, float32, ALIGNMENT)
        kept = cuda.shared.array(KEPT_CELLS, float32, ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        top = cuda.blockIdx.y * OUT_ROWS - anchor_row
        left = cuda.blockIdx.x * OUT_SAMPLES - BEFORE
        # Places of the next part that is loaded, and of the next one that is filtered.
        there, here = 0, 0
        for part in range(ahead_of()):
            load(tile, there, image, samples, top + part * PART_ROWS, lane, warp, left, ghost_value)
            there += PART_CELLS
        for part in range(parts_of()):
            wait()
            # The part is there, and nobody reads the one before it any more, whose place the next one takes.
            cuda.syncthreads()
            if part + AHEAD < PARTS:
                below = top + (part + AHEAD) * PART_ROWS
                load(tile, there, image, samples, below, lane, warp, left, ghost_value)
            else:
                close()
            sums = filter_along(tile, here + warp * CELLS_ALONG, lane, along, NOTHING)
            row = part * PART_ROWS + warp * ROWS_ALONG
            keep(kept, row * KEPT_SAMPLES, lane, sums)
            here = 0 if here + PART_CELLS == TILE_CELLS else here + PART_CELLS
            there = 0 if there + PART_CELLS == TILE_CELLS else there + PART_CELLS
        cuda.syncthreads()

        first = warp * ROWS_DOWN
        sums = filter_down(kept, first * KEPT_SAMPLES, lane, down, offset)
        sample = cuda.blockIdx.x * OUT_SAMPLES + lane * 4
        store(out, cuda.blockIdx.y * OUT_ROWS + first, sample, samples, sums)

    return correlate_tiles


def pass_of(problem: Problem, mask: Mask) -> Pass:
    """Return the pass for a mask that is one column times one row."""
    shape, factors = shape_of(problem), factor(mask)
    along = np.asarray(factors.row, np.float32).reshape(1, -1)
    down = np.asarray(factors.column, np.float32).reshape(-1, 1)
    constant = np.zeros(shape.weights, np.float32)
    constant[: along.size] = along.ravel()
    constant[shape.along.weights :] = down.ravel()
    factor_type = types.Array(types.float32, 2, "C")
    numbers = (types.int64, types.int64, types.int64, types.float32, types.float32)
    signature = (image_type(problem), factor_type, factor_type, *numbers, result_type(problem))
    values = (problem.width, *problem.anchor, np.float32(problem.ghost_value), np.float32(mask.offset))
    arguments = (Place.IMAGE, along, down, *values, Place.OUT)
    function = kernel(problem.border, shape, problem.itemsize, problem.result_itemsize)
    return Pass("correlate_tiles", function, signature, launch_of(problem), arguments, (WEIGHTS, constant))
