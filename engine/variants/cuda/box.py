"""`box`: masks of equal weights by running sums, in one kernel; the cost hardly depends on the side.

Idea
    Along the rows, and then down the columns, a window is the end of one segment, what lies between, and the beginning of a
    last one (`engine.variants.box_mask`), so that each sample is added about three times in each direction whatever the mask.
Who loads what
    A block is one warp. It walks down a strip of up to 128 samples, up to 8 input rows at a time: while it adds up the present
    ones, the next ones are copied (`engine/variants/emit/cuda_tile_loader.py`). First each thread adds up segments of rows
    from both ends, in registers; then it follows its columns, 32 samples apart. Rows that will leave the windows again are
    kept in a ring in shared memory (`engine/variants/emit/box_strip.py`).
What it saves
    Against the separable variants: rows + columns multiply-adds become about eight additions, and no rows are filtered
    twice but those above a strip.
Limit
    Memory; shared memory for large masks of several channels: each result takes 6 accesses to it with 3 cells a side, 14
    with 63.
"""

from functools import lru_cache

import numpy as np
from numba import types

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.border import Border
from engine.device.cuda_kernels import float32, image_type, prepare_passes, result_type
from engine.device.kept_kernels import kept_on_disk
from engine.device.numba_cuda import SIMULATED, cuda
from engine.errors import UnsupportedVariant
from engine.mask.mask import Mask
from engine.metrics.traffic import cells_inside
from engine.problem import Problem
from engine.variants.box_mask import refuse_other_masks
from engine.variants.contract import DeviceKind, Launch, Pass, Place, Variant
from engine.variants.cuda.geometry import MAX_GRID_Y, blocks_along
from engine.variants.emit.box_strip import LANES, SHARED_BYTES, BoxStrip, box_strip
from engine.variants.emit.cuda_async_copy import closer, waiter
from engine.variants.emit.cuda_column_walk import column_walker
from engine.variants.emit.cuda_segment_sums import segment_summer
from engine.variants.emit.cuda_tile_loader import tile_loader
from engine.work import Work, filter_work

# A large device, of which each multiprocessor gets the same number of blocks, all at once. Every further strip down reads
# mask rows - 1 rows once more; 12 blocks have 50 KB under way.
MULTIPROCESSORS = 132
MOST_BLOCKS = 12
SHARED_BYTES_OF_ALL = 227 * 1024
RESERVED_BYTES = 1024
LEAST_ROWS = 16
# Where strips alone fill the device, lower ones end at different times (8-bit RGB, 15 x 15, H200: 340 us with 376 rows, 193
# with 96); masks of many rows want more, because so many are read twice.
MOST_ROWS, MOST_ROWS_A_MASK_ROW = 128, 6


def _strip_of(problem: Problem) -> BoxStrip:
    return box_strip(problem.mask_shape, problem.anchor[1], problem.channels)


def strip_rows(problem: Problem) -> int:
    """Return the rows of results of a block: as many as leave a large device full of blocks that all run at once."""
    strip = _strip_of(problem)
    across = blocks_along(problem.width * problem.channels, strip.out_samples)
    at_once = min(MOST_BLOCKS, SHARED_BYTES_OF_ALL // (4 * strip.shared_cells + RESERVED_BYTES))
    down = max(1, MULTIPROCESSORS * at_once // across)
    few_rows_twice = max(LEAST_ROWS, problem.mask_shape[0] // 2)
    most = max(MOST_ROWS, MOST_ROWS_A_MASK_ROW * problem.mask_shape[0])
    rows = min(max(few_rows_twice, blocks_along(problem.height, down)), most)
    rows = max(rows, blocks_along(problem.height, MAX_GRID_Y))
    return blocks_along(rows, strip.step_rows) * strip.step_rows


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch; the block is the variant's own."""
    strip = _strip_of(problem)
    grid = (
        blocks_along(problem.width * problem.channels, strip.out_samples),
        blocks_along(problem.height, strip_rows(problem)),
        1,
    )
    return (Launch(grid, (LANES, 1, 1), 4 * strip.shared_cells),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each block loads whole batches of rows, and follows its own columns down."""
    strip, (launch,) = _strip_of(problem), plan(problem, block)
    rows, (across, down, _) = strip_rows(problem), launch.grid
    batches = [strip.batches(min(rows, problem.height - index * rows)) for index in range(down)]
    number = across * sum(batches)
    loaded = number * strip.tile_cells
    if problem.border.has_ghost_cells:
        lefts = (index * strip.out_samples - strip.before for index in range(across))
        samples = problem.width * problem.channels
        wide = sum(cells_inside(left, left + strip.tile.tile_samples, samples) for left in lefts)
        tops = (index * rows - problem.anchor[0] - strip.early_rows for index in range(down))
        loaded = wide * sum(
            cells_inside(top, top + count * strip.batch_rows, problem.height)
            for top, count in zip(tops, batches, strict=True)
        )
    first_cells = strip.batch_rows * strip.first_segments * strip.segment * strip.channels
    segment_cells = strip.jobs * strip.segment
    results = strip.batch_rows * strip.out_samples
    along = strip.mask_columns * results
    if strip.segment:
        along = strip.batch_rows * sum(strip.parts(sample) for sample in range(strip.out_samples))
    kept = results if strip.slots else 0
    totals = strip.steps * strip.out_samples
    has_both = bool(strip.rest) and strip.whole_steps > 1
    return filter_work(
        problem,
        picture_loads=loaded,
        shared_loads=number * (segment_cells + along + kept + totals * (strip.totals + has_both)),
        shared_stores=number
        * (strip.tile_cells + segment_cells + first_cells + kept + totals * (bool(strip.totals) + has_both)),
        multiply_adds=number * (segment_cells if strip.segment else along),
    )


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is no box, or the device's shared memory too small; None if all is well."""
    refusal = refuse_other_masks(mask, "register-blocked or tiled")
    if refusal is not None:
        return refusal
    needed, available = 4 * _strip_of(problem).shared_cells, min(limits.shared_bytes, SHARED_BYTES)
    if needed > available:
        rows, columns = problem.mask_shape
        return Refusal(
            f"A mask of {rows} x {columns} on {problem.channels} channels needs {needed:,} bytes of shared memory for its "
            f"sums; a block has {available:,}. Use tiled, or fewer channels."
        )
    return None


# What the compiler must know: few of them are in use at a time.
@lru_cache(maxsize=64)
@kept_on_disk
def kernel(border: Border, strip: BoxStrip, itemsize: int, result_itemsize: int):
    """Return the kernel for a border, a shape of a block's work, and the bytes of a sample of picture and result."""
    load = tile_loader(strip.tile, strip.batch_rows, itemsize, border.rule)
    wait, close = waiter(pending=strip.ahead - 1), closer()
    add_up, walk = segment_summer(strip), column_walker(strip, result_itemsize)
    # Vectors of 16 bytes need it; the simulator knows no alignment.
    ALIGNMENT = None if SIMULATED else 16
    CHANNELS, BEFORE, OUT_SAMPLES = strip.channels, strip.before, strip.out_samples
    AHEAD, STEPS, STEP_ROWS, BATCH_ROWS = strip.ahead, strip.steps, strip.step_rows, strip.batch_rows
    BATCH_CELLS, TILE_CELLS = strip.tile_cells, (strip.ahead + 1) * strip.tile_cells
    ROW_CELLS, BACK_AT, BACK_PITCH = strip.tile.tile_samples, strip.back_at, strip.back_pitch
    HAS_SEGMENTS = strip.segment > 0
    RING_CELLS, STEP_CELLS = strip.slots * STEP_ROWS * OUT_SAMPLES, STEP_ROWS * OUT_SAMPLES
    TOTALS_CELLS, SHARED_CELLS = strip.totals * OUT_SAMPLES, strip.shared_cells
    EARLY_ROWS, EARLY_STEPS = strip.early_rows, strip.slots

    @cuda.jit
    def correlate_box(image, weight, width, rows, anchor_row, ghost_value, offset, out):
        # First the batches of rows, then what `BoxStrip` says.
        tile = cuda.shared.array(SHARED_CELLS, float32, ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        height = image.shape[0]
        # No block begins below the picture; said so, the product keeps its 64 bits.
        first_row = min(cuda.blockIdx.y * rows, height)
        first_sample = cuda.blockIdx.x * OUT_SAMPLES
        top, left = first_row - anchor_row - EARLY_ROWS, first_sample - BEFORE
        own_rows = min(rows, height - first_row)
        steps = (own_rows + STEP_ROWS - 1) // STEP_ROWS + EARLY_STEPS
        batches = (steps + STEPS - 1) // STEPS
        # Places of the next batch that is loaded, and of the one that is added up; of rows that leave; of sums of steps.
        there, here, slot, previous, total = 0, 0, 0, max(0, RING_CELLS - STEP_CELLS), 0
        row = -EARLY_STEPS * STEP_ROWS
        for batch in range(AHEAD):
            load(tile, there, image, samples, top + batch * BATCH_ROWS, lane, warp, left, ghost_value)
            there += BATCH_CELLS
        for batch in range(batches):
            wait()
            # The batch is there, and nobody reads the one before it any more, whose place the next one takes.
            cuda.syncthreads()
            if batch + AHEAD < batches:
                below = top + (batch + AHEAD) * BATCH_ROWS
                load(tile, there, image, samples, below, lane, warp, left, ghost_value)
            else:
                close()
            if HAS_SEGMENTS:
                add_up(tile, here, lane, weight)
                # Nobody may put together what others have not stored yet.
                cuda.syncthreads()
            for step in range(STEPS):
                at = here + step * STEP_ROWS * ROW_CELLS
                back_at = BACK_AT + step * STEP_ROWS * BACK_PITCH
                walk(
                    tile, at, back_at, slot, previous, total, weight, lane, row, own_rows, out, first_row,
                    first_sample, samples, offset,
                )  # fmt: skip
                row += STEP_ROWS
                previous = slot
                slot = 0 if slot + STEP_CELLS >= RING_CELLS else slot + STEP_CELLS
                total = 0 if total + OUT_SAMPLES >= TOTALS_CELLS else total + OUT_SAMPLES
            here = 0 if here + BATCH_CELLS == TILE_CELLS else here + BATCH_CELLS
            there = 0 if there + BATCH_CELLS == TILE_CELLS else there + BATCH_CELLS

    return correlate_box


def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    """Return the one pass.

    Raises
    ------
    UnsupportedVariant
        The mask is no box.
    """
    refusal = refuse_other_masks(mask, "register-blocked or tiled")
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied by running sums", refusal.reason)
    (launch,) = plan(problem, block)
    numbers = (types.int64,) * 3
    signature = (image_type(problem), float32, *numbers, float32, float32, result_type(problem))
    arguments = (
        Place.IMAGE,
        np.float32(mask.weights32[0, 0]),
        problem.width,
        strip_rows(problem),
        problem.anchor[0],
        np.float32(problem.ghost_value),
        np.float32(mask.offset),
        Place.OUT,
    )
    function = kernel(problem.border, _strip_of(problem), problem.itemsize, problem.result_itemsize)
    return (Pass("correlate_box", function, signature, launch, arguments),)


VARIANT = Variant(
    key="box",
    title="Running sums (box)",
    device=DeviceKind.CUDA,
    idea="For masks of equal weights: each window is the end of one segment, what lies between and the beginning of a last one, "
    "along the rows and then down the columns, so that a large mask costs hardly more than a small one.",
    default_block=Block(LANES, 1),
    plan=plan,
    work=work,
    prepare=prepare_passes(passes),
    unsupported=unsupported,
    passes=passes,
    uses_block=False,
    remark="Takes only masks whose weights are all equal.",
    quantises=True,
    cuttable=False,
)
