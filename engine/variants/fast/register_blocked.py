"""`register-blocked`: each thread keeps a block of results in registers; the fastest direct kernel here.

Idea
    A thread owns `rows` neighbouring rows of 4 (RGB: 12) results. It goes down the mask rows with the input
    rows under them in registers: each step loads one more input row, 16 bytes at a time, and every weight
    serves all of the thread's results.
Who loads what
    The block copies its input tile into shared memory with 16-byte copies that no thread waits for (4 samples
    of any type); borders are decided there, never in the inner loop. The weights lie in constant memory that
    is written when a mask is prepared: a mask edit needs no compiling, and a warp reads them into uniform
    registers. Pictures and results of 8 bit with masks up to 5 x 5 (grey: 7 x 7) keep bytes in the tile
    (`tile_shape.py`).
What it saves
    Against `tiled`: a value that came out of shared memory serves up to 4 x rows multiply-adds instead of
    one, a weight 16 and more of them.
Limit
    Memory up to about 7 x 7 (float32), after that the multiply-adds themselves.

Sources: the register tiling of matrix products (Volkov and Demmel, "Benchmarking GPUs to tune dense linear
algebra", SC 2008, section 3) applied to the rows of a correlation; the emitters are in the modules beside
this one (`docs/emission.md`).
"""

from functools import lru_cache

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, jit_with_constant, types
from engine.device.launches import WEIGHTS, Launch, Pass
from engine.geometry.block import Block, Limits, Refusal
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.variants import passes
from engine.variants.emit.cuda_code import SHARED_ALIGNMENT, waiter
from engine.variants.fast.thread_results import accumulator, byte_accumulator, result_storer
from engine.variants.fast.tile_loader import byte_tile_loader, tile_loader
from engine.variants.fast.tile_shape import SHARED_BYTES, WARPS, ByteTileShape, TileShape, byte_tile_shape
from engine.variants.passes import filter_arguments, launch_of_samples, loads_of_tiles, whole_vectors
from engine.work.filtering.sum_order import one_chain
from engine.work.filtering.variants import Variant, filter_work
from engine.work.problem import Problem

MAX_SIDE = 31
# By channels: for masks of up to so many columns, the vectors of results in a row of a thread, and its rows:
# the fastest of those tried (H200, 4000 x 3000), where shared memory has room for them.
TILES = {
    1: ((9, 1, 4), (11, 1, 3), (MAX_SIDE, 1, 4)),
    2: ((5, 1, 4), (9, 1, 6), (MAX_SIDE, 1, 4)),
    3: ((5, 1, 8), (7, 2, 3), (9, 1, 6), (MAX_SIDE, 3, 2)),
    4: ((5, 1, 8), (7, 2, 4), (MAX_SIDE, 3, 2)),
}
# The same for pictures of 8 and 16 bit with one channel.
INTEGER_TILES = ((5, 1, 8), (7, 1, 6))
# Samples of input rows that a thread holds at once; more of them would leave registers for few warps.
# With one channel, each is in use with all mask columns at once; with more, one column after another.
MOST_WINDOW_SAMPLES = (120, 250)


# `auto` asks again and again, while a person waits.
@lru_cache(maxsize=256)
def tile_shape(mask_shape: tuple[int, int], anchor_column: int, channels: int, itemsize: int) -> TileShape:
    """Return the shape of a block's work: the fastest of those tried (H200) that shared memory has room for.

    A row more per thread shares input rows, a vector more shares input samples (of three or four channels);
    each costs registers. Up to 5 x 5 memory is the limit, and many rows of one vector are stored in better
    order (8-bit RGB 3 x 3 with float32 results: 54 us, two rows of three vectors 80).
    """
    left = anchor_column * channels
    before = whole_vectors(left)
    tiles = (*(INTEGER_TILES if channels == 1 and itemsize < 4 else ()), *TILES[channels])
    vectors, rows = next((tile[1:] for tile in tiles if mask_shape[1] <= tile[0]), tiles[-1][1:])
    candidates = [
        TileShape(mask_shape, channels, before, before - left, vectors_of_row, rows_of_thread, warps)
        for rows_of_thread in range(rows, 0, -1)
        for vectors_of_row in range(vectors, 0, -1)
        for warps in (WARPS, WARPS // 2)
    ]
    most_samples = MOST_WINDOW_SAMPLES[channels > 1]
    fitting = (
        one
        for one in candidates
        if one.shared_bytes <= SHARED_BYTES and one.window * one.rows <= most_samples
    )
    return next(fitting, candidates[-1])


def _shape_of(problem: Problem) -> TileShape:
    own = (problem.mask_shape, problem.anchor[1], problem.channels, problem.itemsize)
    return byte_tile_shape(problem) or tile_shape(*own)


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch; the block is the variant's own, 32 threads across."""
    shape = _shape_of(problem)
    block_of = (shape.out_samples, shape.out_rows, shape.warps)
    return (launch_of_samples(problem, *block_of, shape.shared_bytes, 4 * shape.weights),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: a block fills its whole tile (ghost cells cost no load), computes all results."""
    shape, (launch,) = _shape_of(problem), plan(problem, block)
    cells = launch.blocks * shape.tile_rows * shape.tile_samples
    bands = [(index * shape.out_rows, shape.tile_rows) for index in range(launch.grid[1])]
    threads = launch.blocks * shape.threads
    return filter_work(
        problem,
        picture_loads=loads_of_tiles(problem, launch, shape.before, shape.tile_samples, bands),
        shared_loads=threads * (shape.rows + shape.mask_rows - 1) * shape.window,
        shared_stores=cells,
        constant_loads=threads * problem.taps,
        multiply_adds=threads * shape.rows * shape.across * problem.taps,
    )


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask or picture is too large, or shared memory too small; None if all is well."""
    why = "needs more results in registers than a thread can keep"
    if (refusal := passes.refuse_long_mask(problem.mask_shape, MAX_SIDE, why, "tiled")) is not None:
        return refusal
    (launch,) = plan(problem, block)
    refusal = passes.refuse_shared_memory(problem, launch, limits.shared_bytes, "tile", "tiled")
    return refusal or passes.refuse_rows(problem, launch, _shape_of(problem).out_rows)


@kernel_factory
def kernel(border: Border, shape: TileShape):
    """Return the kernel for a border and a shape of a block's work."""
    if isinstance(shape, ByteTileShape):
        load, accumulate = byte_tile_loader(shape, border.rule), byte_accumulator(shape)
        TYPE = types.uint8
    else:
        load = tile_loader(shape, shape.tile_rows, border.rule)
        accumulate, TYPE = accumulator(shape), types.float32
    wait, store = waiter(pending=0), result_storer(shape.rows, shape.across)
    CHANNELS, BEFORE, ROWS, ACROSS = shape.channels, shape.before, shape.rows, shape.across
    OUT_ROWS, OUT_SAMPLES = shape.out_rows, shape.out_samples
    TILE_SAMPLES, TILE_CELLS = shape.tile_samples, shape.tile_rows * shape.tile_samples

    @jit_with_constant(WEIGHTS, shape.weights)
    def correlate_register_blocked(
        image, weights, width, anchor_row, anchor_column, ghost_value, offset, out
    ):
        tile = cuda.shared.array(TILE_CELLS, TYPE, SHARED_ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        top = cuda.blockIdx.y * OUT_ROWS - anchor_row
        left = cuda.blockIdx.x * OUT_SAMPLES - BEFORE
        load(tile, image, samples, top, lane, warp, left, ghost_value)
        wait()
        # No thread may read a cell before the one that copies it has it there.
        cuda.syncthreads()
        row = warp * ROWS
        results = accumulate(tile, row * TILE_SAMPLES, lane, weights, offset)
        sample = cuda.blockIdx.x * OUT_SAMPLES + lane * ACROSS
        store(out, cuda.blockIdx.y * OUT_ROWS + row, sample, samples, results)

    return correlate_register_blocked


def _passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    (launch,) = plan(problem, block)
    shape = _shape_of(problem)
    constant = np.zeros((shape.mask_rows, shape.weight_pitch), np.float32)
    constant[:, : shape.mask_columns] = mask.weights32
    function, arguments = kernel(problem.border, shape), filter_arguments(problem, mask)
    return (passes.filter_pass(function, problem, launch, arguments, (WEIGHTS, constant)),)


VARIANT = Variant(
    key="register-blocked",
    title="Register-blocked",
    idea="Each thread keeps rows of results in registers and reads each input row once, 16 bytes at a time.",
    default_block=Block(32, WARPS),
    plan=plan,
    work=work,
    **passes.by_passes(_passes),
    unsupported=unsupported,
    sum_order=lambda problem, mask: one_chain(mask.taps),
    uses_block=False,
    integer_output=True,
    most_rows=MAX_SIDE,
    most_columns=MAX_SIDE,
)
