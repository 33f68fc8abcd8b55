"""`box`: masks of equal weights by running sums, in one kernel; the cost hardly depends on the side.

Idea
    Neighbouring windows have most of their cells in common. These are added up once; cells before them are
    added from the back, cells after them from the front (`engine/variants/tiles/window_sums.py`): about 3 to
    6 additions per result along the rows, and as many down the columns, whatever the mask.
Who loads what
    A block copies its input tile into shared memory, 16 bytes at a time. A few threads take a row, sum up 4
    to 32 neighbouring windows each in registers, and replace the samples by the sums; then each thread sums
    up its columns. For masks of many rows the block moves down, 8 to 32 rows at a time, and keeps the sums
    of rows that windows still need in a ring while the next input rows arrive
    (`engine/variants/tiles/box_shape.py`).
What it saves
    Against the separable variants: rows + columns multiply-adds become about ten additions.
Limit
    Memory; shared memory for large masks on several channels, where few neighbours share a channel.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import DeviceKind, Launch, Operand, Pass
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.geometry.refusal import Refusal, UnsupportedVariant
from engine.mask.mask import Mask
from engine.results.work import Work
from engine.variants.filter_passes import prepare_passes
from engine.variants.kernel_types import filter_pass
from engine.variants.tiles.box_mask import refuse_other_masks
from engine.variants.tiles.box_shape import LANES, SHARED_BYTES, BoxShape, loads_of_lots
from engine.variants.tiles.geometry import MAX_GRID_Y, blocks_along, launch_of_samples, refuse_shared_memory
from engine.variants.tiles.waves import resident_blocks, rows_of_strips
from engine.work.filtering.problem import Problem
from engine.work.filtering.sum_order import RUNNING_SUMS
from engine.work.filtering.variants import Growth, MaskClass, Variant
from engine.work.filtering.work import filter_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, jit_within
    from engine.variants.ir.device_function import waiter
    from engine.variants.tiles.result_storer import result_storer
    from engine.variants.tiles.tile_loader import tile_loader
    from engine.variants.tiles.tile_sums import column_summer, row_summer, sums_store

TILE_SAMPLES, TILE_WARPS, TILE_COLUMNS = 128, 8, 4
RING_WARPS, RING_COLUMNS = 4, 1
# Mask rows from which a ring is used, and up to which memory is the limit.
LEAST_RING_ROWS, MOST_ROWS_OF_FOUR = 24, 13
# Resident blocks of a ring that strips are planned for. There may be more, but over 200 random problems the
# rows chosen for 4, 5, 6 and 8 took 1.04, 1.025, 1.03 and 1.03 times as long as the best rows (H200).
MOST_BLOCKS = 5
INSTEAD = "register-blocked or tiled"


def box_shape(problem: Problem) -> BoxShape:
    """Return the shape of a block's work: a tile where there is room for one, else a ring.

    More neighbouring results per thread share more of what it reads of a row. More rows share the sums of
    those above and below, but take the registers of other warps. Widths, results and rows are those that were
    fastest on an H200.
    """
    rows, columns = problem.mask_shape
    span = (columns - 1) * problem.channels
    results = 8 if span < 8 else 16 if span < 24 else 32
    tiles = [_tile(problem, results, number) for number in (4, 5, 6)]
    tiles = [tile for tile in tiles if tile.shared_bytes <= SHARED_BYTES]
    is_low = blocks_along(problem.height, TILE_WARPS * 4) <= MAX_GRID_Y
    if tiles and is_low and rows < LEAST_RING_ROWS:
        is_memory_bound = rows <= MOST_ROWS_OF_FOUR and problem.channels == 1
        return tiles[0] if is_memory_bound else tiles[-1]
    widths = (128, 64) if problem.channels == 1 else (64,)
    results = 16 if span < 32 else 32
    rings = [_ring(problem, width, results, 16) for width in widths] + [_ring(problem, 64, results, 8)]
    return next((ring for ring in rings if ring.shared_bytes <= SHARED_BYTES), rings[-1])


def _tile(problem: Problem, results: int, rows: int) -> BoxShape:
    left = problem.anchor[1] * problem.channels
    sides = (TILE_SAMPLES, results, rows, TILE_COLUMNS, TILE_WARPS)
    return BoxShape(*problem.mask_shape, problem.channels, left, *sides, is_ring=False)


def _ring(problem: Problem, samples: int, results: int, rows: int) -> BoxShape:
    tile = _tile(problem, results, rows)
    return replace(tile, out_samples=samples, columns=RING_COLUMNS, warps=RING_WARPS, is_ring=True)


def rows_of(problem: Problem, shape: BoxShape) -> int:
    """Return the rows of results per block."""
    if not shape.is_ring:
        return shape.step_rows
    across = blocks_along(problem.width * problem.channels, shape.out_samples)
    resident = min(MOST_BLOCKS, resident_blocks(shape.shared_bytes))
    return rows_of_strips(problem, across, resident, step=shape.step_rows, least=problem.mask_shape[0] // 2)


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch; the block is the variant's own, 32 threads across."""
    shape = box_shape(problem)
    block_of = (shape.out_samples, rows_of(problem, shape), shape.warps)
    return (launch_of_samples(problem, *block_of, shape.shared_bytes),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: a block sums up the input rows that it loads along themselves, then its columns."""
    shape, (launch,) = box_shape(problem), plan(problem, block)
    across, height = launch.grid[0], rows_of(problem, shape)
    loads, cells, jobs, walks = loads_of_lots(problem, shape, across, height)
    along, down = shape.along, shape.down
    return filter_work(
        problem,
        picture_loads=loads,
        shared_loads=jobs * along.read + walks * down.windows.samples,
        shared_stores=cells + jobs * shape.results,
        multiply_adds=jobs * along.windows.weighed,
    )


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is not a box, or the device's shared memory too small; None if all is well."""
    (launch,), most = plan(problem, block), min(limits.shared_bytes, SHARED_BYTES)
    return refuse_other_masks(mask, INSTEAD) or refuse_shared_memory(problem, launch, most, "sums", "tiled")


# For rings that convert 8 or 16 bit: left to itself the compiler takes up to 168, and 63 x 63 on 8-bit RGB
# takes 321 instead of 280 us with mirrored borders, 271 instead of 256 with zeros. float32 is copied without
# registers; 63 x 63 loses with a limit.
RING_REGISTERS = 96


# What the compiler must know: few of them are in use at a time.
@kernel_factory
def kernel(border: Border, shape: BoxShape, itemsize: int, result_itemsize: int):
    """Return the kernel for a border, a shape of work, and the bytes of a sample of picture and result."""
    load = tile_loader(shape.input, shape.lot_rows, itemsize, border.rule)
    wait = waiter(pending=0)
    sum_along, keep = row_summer(shape.along), sums_store(shape.results)
    sum_down = column_summer(shape.down, shape.kept_at)
    store = result_storer(shape.rows, shape.columns, result_itemsize)
    # Vectors of 16 bytes need it.
    ALIGNMENT = 16
    CELLS, PITCH, KEPT_PITCH, KEPT_AT = shape.shared_cells, shape.pitch, shape.kept_pitch, shape.kept_at
    CHANNELS, BEFORE, OUT_SAMPLES, RESULTS = shape.channels, shape.before, shape.out_samples, shape.results
    WARP_ROWS, ROUND_ROWS, LOT_ROWS = shape.warp_rows, shape.round_rows, shape.lot_rows
    STEP_ROWS, RING_ROWS = shape.step_rows, shape.ring_rows
    EARLY_STEPS, EARLY_ROWS, IS_RING = shape.early_steps, shape.early_rows, shape.is_ring
    ROWS, COLUMNS, COLUMN_THREADS = shape.rows, shape.columns, shape.column_threads

    @jit_within(RING_REGISTERS if IS_RING and itemsize < 4 else None)
    def correlate_box(image, weight, width, anchor_row, strip_rows, ghost_value, offset, out):
        # Input rows; of a ring, the rows of sums after them.
        tile = cuda.shared.array(CELLS, float32, ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        first = cuda.blockIdx.y * (strip_rows if IS_RING else STEP_ROWS)
        first_sample = cuda.blockIdx.x * OUT_SAMPLES
        left, top = first_sample - BEFORE, first - anchor_row - EARLY_ROWS
        load(tile, 0, image, samples, top, lane, warp, left, ghost_value)
        lots = 1
        if IS_RING:
            lots = (min(strip_rows, out.shape[0] - first) + STEP_ROWS - 1) // STEP_ROWS + EARLY_STEPS
        # Threads that load vectors at once lie in as many rows as avoid bank conflicts.
        own_row, across = warp * WARP_ROWS + lane % WARP_ROWS, lane // WARP_ROWS * RESULTS
        thread = warp * 32 + lane
        column, own_rows = thread % COLUMN_THREADS * COLUMNS, thread // COLUMN_THREADS * ROWS
        row = first - EARLY_STEPS * STEP_ROWS + own_rows
        # Where, in a ring, the next row of sums goes, and where this thread's windows begin.
        there, begin = (RING_ROWS - EARLY_ROWS if EARLY_ROWS else 0), own_rows
        for lot in range(lots):
            wait()
            # No thread may read a cell before its copy has arrived, or replace a sum that is still read.
            cuda.syncthreads()
            if IS_RING:
                for lot_row in range(own_row, LOT_ROWS, ROUND_ROWS):
                    sums = sum_along(tile, lot_row * PITCH + across, weight)
                    kept = there + lot_row
                    kept = kept - RING_ROWS if kept >= RING_ROWS else kept
                    keep(tile, KEPT_AT + kept * KEPT_PITCH + across, sums)
            else:
                for lot_row in range(own_row, LOT_ROWS, ROUND_ROWS):
                    at = lot_row * PITCH + across
                    sums = sum_along(tile, at, weight)
                    # All lanes have read what these sums replace.
                    cuda.syncwarp()
                    keep(tile, at, sums)
            cuda.syncthreads()
            if IS_RING and lot + 1 < lots:
                top += LOT_ROWS
                load(tile, 0, image, samples, top, lane, warp, left, ghost_value)
            if lot >= EARLY_STEPS:
                store(out, row, first_sample + column, samples, sum_down(tile, begin, column, offset))
                if IS_RING:
                    begin += STEP_ROWS
                    begin = begin - RING_ROWS if begin >= RING_ROWS else begin
            if IS_RING:
                there += STEP_ROWS
                there = there - RING_ROWS if there >= RING_ROWS else there
            row += STEP_ROWS

    return correlate_box


def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    """Return the one pass; raise UnsupportedVariant for a mask that is not a box."""
    refusal = refuse_other_masks(mask, INSTEAD)
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied by running sums", refusal)
    shape, (launch,) = box_shape(problem), plan(problem, block)
    numbers = (problem.width, problem.anchor[0], rows_of(problem, shape))
    constants = (np.float32(problem.ghost_value), np.float32(mask.offset))
    arguments = (Operand.IMAGE, mask.weights32[0, 0], *numbers, *constants, Operand.OUT)
    function = kernel(problem.border, shape, problem.itemsize, problem.result_itemsize)
    return (filter_pass(function, problem, launch, arguments),)


VARIANT = Variant(
    key="box",
    title="Running sums (box)",
    device=DeviceKind.CUDA,
    idea="For masks of equal weights: what neighbouring windows have in common is added up once, along the "
    "rows and then down the columns, so that a large mask costs hardly more than a small one.",
    default_block=Block(LANES, TILE_WARPS),
    plan=plan,
    work=work,
    sum_order=lambda problem, mask: RUNNING_SUMS,
    prepare=prepare_passes(passes),
    unsupported=unsupported,
    passes=passes,
    uses_block=False,
    remark="Takes only masks whose weights are all equal.",
    integer_output=True,
    band_invariant=False,
    masks=MaskClass.EQUAL_WEIGHTS,
    grows_with=Growth.NOTHING,
)
