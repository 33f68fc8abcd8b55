"""Rows and columns in one kernel: each row is filtered along itself in shared memory, then the columns.

A block copies its input tile into shared memory, 16 bytes at a time. A few threads take a row, filter 8 to 32
neighbouring results each in registers, and put them where the samples were; then each thread filters its
columns down. The rows that the mask reaches over a block are filtered again by the next one. For masks of
many rows the block moves down instead, some rows at a time, and keeps the filtered rows that windows still
need in a ring while the next input rows arrive.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32, jit_with_constant, jit_within
from engine.device.launches import WEIGHTS, Launch, Operand, Pass
from engine.geometry.block import MAX_GRID_Y, Block, Limits, Refusal, UnsupportedVariant, blocks_along
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.variants import passes
from engine.variants.emit.cuda_code import SHARED_ALIGNMENT, waiter
from engine.variants.fast import fused_sums
from engine.variants.fast.thread_results import result_storer
from engine.variants.fast.tile_loader import tile_loader
from engine.variants.fast.tile_shape import LANES, SHARED_BYTES, FusedShape
from engine.work.filtering.variants import Variant, filter_work
from engine.work.problem import Problem

# Resident blocks that strips are planned for; there may be more. Over 200 random problems of `box` the rows
# chosen for 4, 5, 6 and 8 took 1.04, 1.025, 1.03 and 1.03 times as long as the best rows; `low-rank-2` took
# 52.0 us for 9 x 9 on 4096 x 4096 with 6, 53.9 with 5 (H200).
MOST_BLOCKS = 6
MULTIPROCESSORS = 132
"""As a large GPU has (H200)."""
MULTIPROCESSOR_SHARED_BYTES, RESERVED_BYTES = 228 * 1024, 1024
"""Shared memory of a multiprocessor, and what CUDA reserves of it per block (CUDA C++ Programming Guide)."""
MOST_WAVES = 8


def tiles_of(problem: Problem, warps: int) -> float:
    """Return the tiles of 128 results in 4 rows for each warp, per multiprocessor; 0: too high for a grid."""
    down = blocks_along(problem.height, 4 * warps)
    tiles = blocks_along(problem.width * problem.channels, 128) * down
    return tiles / MULTIPROCESSORS if down <= MAX_GRID_Y else 0.0


def rows_of(problem: Problem, shape: FusedShape) -> int:
    """Return the rows of results of a block."""
    if not shape.size.is_ring:
        return shape.step_rows
    across = blocks_along(problem.width * problem.channels, shape.size.out_samples)
    resident = MULTIPROCESSOR_SHARED_BYTES // (shape.shared_bytes + RESERVED_BYTES)
    least, step = problem.mask_shape[0] // 2, shape.step_rows
    return rows_of_strips(problem, across, min(MOST_BLOCKS, resident), step=step, least=least)


def launch_of(problem: Problem, shape: FusedShape) -> Launch:
    """Return the one launch, of blocks that are 32 threads across."""
    block_of = shape.size.out_samples, rows_of(problem, shape), shape.size.warps
    return passes.launch_of_samples(problem, *block_of, shape.shared_bytes, 4 * shape.weights)


def work_of(problem: Problem, shape: FusedShape) -> Work:
    """Return the work: a block filters the input rows that it loads along themselves, then its columns."""
    rows, size, launch = rows_of(problem, shape), shape.size, launch_of(problem, shape)
    across, tops = launch.grid[0], range(0, problem.height, rows)
    lots = [shape.steps(min(rows, problem.height - top)) for top in tops]
    bands = [(top - shape.early_rows, count * shape.lot_rows) for top, count in zip(tops, lots, strict=True)]
    filtered = across * sum(lots) * shape.lot_rows
    threads_along = filtered * size.out_samples // size.results
    threads_down = across * sum(count - shape.early_steps for count in lots) * LANES * size.warps
    along, down, rank = shape.along, shape.down, shape.rank
    weights_along, weights_down = threads_along * rank * along.length, threads_down * rank * down.length
    multiply_adds = weights_along * along.count + weights_down * down.count
    return filter_work(
        problem,
        picture_loads=passes.loads_of_tiles(problem, launch, shape.before, shape.pitch, bands),
        shared_loads=threads_along * shape.read + threads_down * shape.products * down.samples,
        shared_stores=filtered * shape.pitch + threads_along * shape.products * size.results,
        constant_loads=weights_along + weights_down,
        multiply_adds=multiply_adds if rank else threads_along * along.weighed,
    )


def rows_of_strips(problem: Problem, across: int, resident: int, *, step: int, least: int = 1) -> int:
    """Return the rows of results per strip of a picture.

    Low strips read the rows above and below them, which the mask reaches over, many times; few high ones
    leave multiprocessors idle at the end. A block's time is taken as proportional to its input rows, and the
    whole as so many waves of blocks: the last one counts half even where it is not full, and `late` is for
    blocks that take longer, those at an edge above all. The numbers are fitted to 475 random problems (H200;
    docs/experiments/strips.md).

    There are `across` blocks side by side, and `resident` ones on a multiprocessor at once. The result is a
    multiple of `step`, and at least `least`.
    """
    height, halo = problem.height, problem.mask_shape[0] - 1
    # float32 of one channel is copied in the same way at an edge and inside.
    late = 0.5 if problem.channels == 1 and problem.itemsize == 4 else 1.5
    wave = MULTIPROCESSORS * resident
    fewest = -(-across // wave)
    best_rows, best_time = height, float("inf")
    for waves in range(fewest, fewest + MOST_WAVES):
        rows = max(-(-height // (waves * wave // across)), least)
        rows = -(-rows // step) * step
        blocks = across * -(-height // rows)
        time = (rows + halo) * (-(-blocks // wave) + blocks / wave + late)
        if time < best_time:
            best_rows, best_time = rows, time
    return best_rows


# For rings of running sums that convert 8 or 16 bit: left to itself the compiler takes up to 168, and 63 x 63
# on 8-bit RGB takes 321 instead of 280 us with mirrored borders, 271 instead of 256 with zeros. float32 is
# copied without registers; 63 x 63 loses with a limit.
RING_REGISTERS = 96


@kernel_factory
def kernel(border: Border, shape: FusedShape, itemsize: int):
    """Return the kernel for a border, a shape of work, and the bytes of a sample of the picture."""
    size = shape.size
    load = tile_loader(shape.input, shape.lot_rows, border.rule)
    wait = waiter(pending=0)
    if shape.rank:
        filter_along, filter_down = fused_sums.row_weigher(shape), fused_sums.column_weigher(shape)
        jit = jit_with_constant(WEIGHTS, shape.weights)
    else:
        filter_along, filter_down = fused_sums.row_summer(shape), fused_sums.column_summer(shape)
        jit = jit_within(RING_REGISTERS if size.is_ring and itemsize < 4 else None)
    keep = fused_sums.products_store(shape)
    store = result_storer(size.rows, size.columns)
    CELLS, PITCH, KEPT_PITCH, KEPT_AT = shape.shared_cells, shape.pitch, shape.kept_pitch, shape.kept_at
    CHANNELS, BEFORE, OUT_SAMPLES, RESULTS = shape.channels, shape.before, size.out_samples, size.results
    WARP_ROWS, ROUND_ROWS, LOT_ROWS = shape.warp_rows, shape.round_rows, shape.lot_rows
    STEP_ROWS, KEPT_ROWS, EARLY_STEPS = shape.step_rows, shape.kept_rows, shape.early_steps
    EARLY_ROWS, IS_RING, IS_IN_PLACE = shape.early_rows, size.is_ring, shape.is_in_place
    ROWS, COLUMNS, COLUMN_THREADS = size.rows, size.columns, shape.column_threads

    @jit
    def correlate_fused(image, along, down, width, anchor_row, strip_rows, ghost_value, offset, out):
        # Input rows, and filtered ones in their place or after them.
        tile = cuda.shared.array(CELLS, float32, SHARED_ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        first = cuda.blockIdx.y * (strip_rows if IS_RING else STEP_ROWS)
        first_sample = cuda.blockIdx.x * OUT_SAMPLES
        left, top = first_sample - BEFORE, first - anchor_row - EARLY_ROWS
        load(tile, image, samples, top, lane, warp, left, ghost_value)
        lots = 1
        if IS_RING:
            lots = (min(strip_rows, out.shape[0] - first) + STEP_ROWS - 1) // STEP_ROWS + EARLY_STEPS
        # Threads that load vectors at once lie in as many rows as avoid bank conflicts.
        own_row, across = warp * WARP_ROWS + lane % WARP_ROWS, lane // WARP_ROWS * RESULTS
        thread = warp * 32 + lane
        column, own_rows = thread % COLUMN_THREADS * COLUMNS, thread // COLUMN_THREADS * ROWS
        row = first - EARLY_STEPS * STEP_ROWS + own_rows
        # Where, in a ring, the next filtered row goes, and where this thread's windows begin.
        there, begin = (KEPT_ROWS - EARLY_ROWS if EARLY_ROWS else 0), own_rows
        for lot in range(lots):
            wait()
            # No thread may read a cell before its copy has arrived, or replace a value that is still read.
            cuda.syncthreads()
            for lot_row in range(own_row, LOT_ROWS, ROUND_ROWS):
                values = filter_along(tile, lot_row * PITCH + across, along)
                if IS_IN_PLACE:
                    # All lanes have read what these values replace.
                    cuda.syncwarp()
                kept = there + lot_row
                kept = kept - KEPT_ROWS if IS_RING and kept >= KEPT_ROWS else kept
                keep(tile, KEPT_AT + kept * KEPT_PITCH + across, values)
            cuda.syncthreads()
            if IS_RING and lot + 1 < lots:
                top += LOT_ROWS
                load(tile, image, samples, top, lane, warp, left, ghost_value)
            if lot >= EARLY_STEPS:
                results = filter_down(tile, begin, column, down, offset)
                store(out, row, first_sample + column, samples, results)
                if IS_RING:
                    begin += STEP_ROWS
                    begin = begin - KEPT_ROWS if begin >= KEPT_ROWS else begin
            if IS_RING:
                there += STEP_ROWS
                there = there - KEPT_ROWS if there >= KEPT_ROWS else there
            row += STEP_ROWS

    return correlate_fused


def fused_variant(
    shape_of: Callable[[Problem], FusedShape],
    weights_of: Callable[[Mask], tuple[Any, Any]],
    refuse: Callable[[Mask], Refusal | None],
    need: tuple[str, str],
    *,
    warps: int,
    refuse_problem: Callable[[Problem, Mask], Refusal | None] = lambda problem, mask: None,
    **traits: Any,
) -> Variant:
    """Return the variant of the kernel with these shapes, in one launch of blocks of its own.

    `weights_of` returns what filters along the rows and down the columns of a mask that is not refused: the
    one weight, twice; or rows of weights of shape (rank, mask columns), and columns, (mask rows, rank).
    `refuse` says why a mask is refused, `refuse_problem` why for a problem, where it is not by itself. `need`
    names what shared memory is needed for, and the variant to use where there is too little.
    """

    def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
        return (launch_of(problem, shape_of(problem)),)

    def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
        refusal = refuse_problem(problem, mask) or refuse(mask)
        if refusal is not None:
            return refusal
        (launch,) = plan(problem, block)
        # A picture may have any height: strips are as high as the grid needs.
        return passes.refuse_shared_memory(problem, launch, min(limits.shared_bytes, SHARED_BYTES), *need)

    def launched(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
        if (refusal := refuse(mask)) is not None:
            raise UnsupportedVariant("The mask cannot be applied in rows and columns", refusal)
        shape, (along, down) = shape_of(problem), weights_of(mask)
        constant = None
        if shape.rank:
            weights = np.zeros(shape.weights, np.float32)
            rows = weights[: shape.rank * shape.row_weights].reshape(shape.rank, -1)
            rows[:, : along.shape[1]] = along
            weights[rows.size :][: down.size] = down.ravel()
            constant = WEIGHTS, weights
        values = (problem.width, problem.anchor[0], rows_of(problem, shape))
        numbers = (np.float32(problem.ghost_value), np.float32(mask.offset))
        arguments = (Operand.IMAGE, along, down, *values, *numbers, Operand.OUT)
        function = kernel(problem.border, shape, problem.itemsize)
        return (passes.filter_pass(function, problem, launch_of(problem, shape), arguments, constant),)

    return Variant(
        plan=plan,
        work=lambda problem, block: work_of(problem, shape_of(problem)),
        **passes.by_passes(launched),
        unsupported=unsupported,
        default_block=Block(LANES, warps),
        uses_block=False,
        integer_output=True,
        **traits,
    )
