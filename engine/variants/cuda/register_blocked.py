"""`register-blocked`: each thread keeps a block of results in registers; the fastest direct kernel here.

Idea
    A thread owns `rows` x `groups` vectors of 4 results. It walks down the input rows of its block's tile in shared
    memory, reads each row once with 16-byte loads, and adds it to every result row that it lies under.
Who loads what
    The block copies its input tile into shared memory with 16-byte loads (4 samples of any type), all of them under
    way before the first is stored; borders are decided there, never in the inner loop. The weights go to shared memory
    too, where a warp reads them as one broadcast: a mask edit needs no compiling.
What it saves
    Against `tiled`: a value that came out of shared memory serves 4 x rows multiply-adds instead of one, a weight
    4 x groups of them.
Limit
    Memory up to about 7 x 7 (float32), after that the multiply-adds themselves.

Sources: the register tiling of matrix products (Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra",
SC 2008, section 3) applied to the rows of a correlation; the emitted code is in `engine/variants/emit/cuda_*.py`.
"""

from functools import lru_cache

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.border import Border
from engine.device.cuda_kernels import (
    filter_arguments,
    filter_signature,
    float32,
    prepare_passes,
)
from engine.device.index_rules import cuda_rule
from engine.device.numba_cuda import SIMULATED, cuda
from engine.mask.mask import Mask
from engine.metrics.traffic import cells_inside
from engine.problem import Problem
from engine.variants.contract import DeviceKind, Launch, Pass, Variant
from engine.variants.cuda.geometry import MAX_GRID_Y, blocks_along
from engine.variants.emit.cuda_accumulator import accumulator
from engine.variants.emit.cuda_result_storer import result_storer
from engine.variants.emit.cuda_tile_loader import tile_loader
from engine.variants.emit.register_tile_shape import VECTOR, TileShape
from engine.work import Work, filter_work

MAX_SIDE = 31
ROWS = 4
WARPS = 4
SHARED_BYTES = 48 * 1024
# Samples of input rows that a thread holds at once; more of them would leave registers for few warps.
WINDOW_SAMPLES = 80


def tile_shape(mask_shape: tuple[int, int], anchor_column: int, channels: int) -> TileShape:
    """Return the shape of a block's work: the first that fits shared memory and registers, unrolled if one can be.

    Two vectors a row and thread halve the loads of weights; one vector leaves half the code, which for 7 x 7 and 9 x 9
    decides whether it can be unrolled (4096 x 4096 float32, H200: 64 instead of 68 us, 87 instead of 91).
    """
    left = anchor_column * channels
    before = -(-left // VECTOR) * VECTOR
    shapes = [
        TileShape(*mask_shape, channels, before, before - left, groups, ROWS, warps)
        for groups, warps in ((2, WARPS), (1, WARPS), (1, WARPS // 2))
    ]
    fitting = [
        shape
        for shape in shapes
        if shape.shared_bytes <= SHARED_BYTES and shape.window * shape.groups <= WINDOW_SAMPLES
    ]
    return next((shape for shape in fitting if shape.unrolled), fitting[0] if fitting else shapes[-1])


def _shape_of(problem: Problem) -> TileShape:
    return tile_shape(problem.mask_shape, problem.anchor[1], problem.channels)


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch; the block is the variant's own, 32 threads across."""
    shape = _shape_of(problem)
    grid = (
        blocks_along(problem.width * problem.channels, shape.out_samples),
        blocks_along(problem.height, shape.out_rows),
        1,
    )
    return (Launch(grid, (32, shape.warps, 1), shape.shared_bytes),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: a block loads its whole tile, mends what lies outside the picture, and computes all its results."""
    shape, (launch,) = _shape_of(problem), plan(problem, block)
    tile = shape.tile_rows * shape.tile_samples
    mended = _mended(problem, shape, launch)
    threads, pairs = launch.blocks * shape.threads, shape.rows * shape.mask_rows
    tap_rows = shape.mask_rows if shape.unrolled else pairs
    walked = (shape.rows + shape.mask_rows - 1) * shape.groups * shape.window
    return filter_work(
        problem,
        picture_loads=launch.blocks * tile + (0 if problem.border.has_ghost_cells else mended),
        weight_loads=launch.blocks * problem.taps,
        shared_loads=threads * (walked + tap_rows * shape.tap_pitch),
        shared_stores=launch.blocks * (tile + shape.mask_rows * shape.tap_pitch) + mended,
        multiply_adds=threads * pairs * shape.groups * VECTOR * shape.mask_columns,
    )


def _mended(problem: Problem, shape: TileShape, launch: Launch) -> int:
    """Return the cells of all tiles that are written once more: those beside the picture, and rows of ghost cells."""
    samples, across, down = problem.width * problem.channels, *launch.grid[:2]
    lefts = (index * shape.out_samples - shape.before for index in range(across))
    outside = sum(
        shape.tile_samples - cells_inside(left, left + shape.tile_samples, samples) for left in lefts
    )
    mended = down * shape.tile_rows * outside
    if not problem.border.has_ghost_cells:
        return mended
    tops = (index * shape.out_rows - problem.anchor[0] for index in range(down))
    ghost_rows = sum(
        shape.tile_rows - cells_inside(top, top + shape.tile_rows, problem.height) for top in tops
    )
    return mended + ghost_rows * (across * shape.tile_samples - outside)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask or the picture is too large, or the device's shared memory too small; None if all is well."""
    rows, columns = problem.mask_shape
    if max(rows, columns) > MAX_SIDE:
        return Refusal(
            f"A mask of {rows} x {columns} has more results in registers than a thread has; it may have up to "
            f"{MAX_SIDE} rows and columns. Use tiled."
        )
    (launch,) = plan(problem, block)
    if launch.shared_bytes > limits.shared_bytes:
        return Refusal(
            f"A mask of {rows} x {columns} on {problem.channels} channels needs {launch.shared_bytes:,} bytes of shared "
            f"memory for its tile; a block has {limits.shared_bytes:,}. Use tiled, or fewer channels."
        )
    if launch.grid[1] > MAX_GRID_Y:
        most = MAX_GRID_Y * _shape_of(problem).out_rows
        return Refusal(
            f"{problem.height:,} rows need more blocks down than CUDA allows; it takes up to {most:,}."
        )
    return None


# What the compiler must know: few of them are in use at a time.
@lru_cache(maxsize=64)
def kernel(border: Border, mask_shape: tuple[int, int], anchor_column: int, channels: int, itemsize: int):
    """Return the kernel for a border, a mask shape and anchor column, a number of channels and a sample size."""
    rule = cuda_rule(border)
    shape = tile_shape(mask_shape, anchor_column, channels)
    load = tile_loader(shape, itemsize, border.rule)
    accumulate, store = accumulator(shape), result_storer(shape)
    CHANNELS, BEFORE, THREADS, WARPS_DOWN = channels, shape.before, shape.threads, shape.warps
    HAS_GHOSTS = border.has_ghost_cells
    # Vectors of 16 bytes need it; the simulator knows no alignment.
    ALIGNMENT = None if SIMULATED else 16
    OUT_ROWS, OUT_SAMPLES = shape.out_rows, shape.out_samples
    TILE_ROWS, TILE_SAMPLES = shape.tile_rows, shape.tile_samples
    MASK_ROWS, MASK_COLUMNS, TAP_PITCH = *mask_shape, shape.tap_pitch
    TILE_CELLS, TAPS = TILE_ROWS * TILE_SAMPLES, MASK_ROWS * TAP_PITCH

    @cuda.jit
    def correlate_register_blocked(
        image, weights, width, anchor_row, anchor_column, ghost_value, offset, out
    ):
        tile = cuda.shared.array(TILE_CELLS, float32, ALIGNMENT)
        taps = cuda.shared.array(TAPS, float32, ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        thread = warp * 32 + lane
        height = image.shape[0]
        samples = width * CHANNELS
        top = cuda.blockIdx.y * OUT_ROWS - anchor_row
        left = cuda.blockIdx.x * OUT_SAMPLES - BEFORE

        load(tile, image, top, lane, warp, left)
        for tap in range(thread, TAPS, THREADS):
            m = tap // TAP_PITCH
            n = tap - m * TAP_PITCH
            weight = float32(0.0)
            if n < MASK_COLUMNS:
                weight = weights[m, n]
            taps[tap] = weight
        outside_left = min(max(-left, 0), TILE_SAMPLES)
        first_outside_right = min(samples - left, TILE_SAMPLES)
        outside = outside_left + TILE_SAMPLES - first_outside_right
        has_ghost_rows = HAS_GHOSTS and (top < 0 or top + TILE_ROWS > height)
        if outside > 0 or has_ghost_rows:
            # Whoever mends a cell must come after whoever loaded it.
            cuda.syncthreads()
            for number in range(thread, TILE_ROWS * outside, THREADS):
                row = number // outside
                place = number - row * outside
                sample = place if place < outside_left else place + TILE_SAMPLES - outside
                column = (left + sample) // CHANNELS
                source_row, source_column = rule(top + row, height), rule(column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = float32(image[source_row, source_column, left + sample - column * CHANNELS])
                tile[row * TILE_SAMPLES + sample] = value
            if has_ghost_rows:
                for row in range(warp, TILE_ROWS, WARPS_DOWN):
                    if rule(top + row, height) < 0:
                        for sample in range(outside_left + lane, first_outside_right, 32):
                            tile[row * TILE_SAMPLES + sample] = ghost_value
        # Nobody may read a cell before whoever loads it has stored it.
        cuda.syncthreads()

        first = warp * ROWS
        sums = accumulate(tile, first * TILE_SAMPLES + lane * VECTOR, taps)
        sample = cuda.blockIdx.x * OUT_SAMPLES + lane * VECTOR
        store(out, cuda.blockIdx.y * OUT_ROWS + first, sample, samples, sums, offset)

    return correlate_register_blocked


def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    """Return the one pass."""
    (launch,) = plan(problem, block)
    function = kernel(
        problem.border, problem.mask_shape, problem.anchor[1], problem.channels, problem.itemsize
    )
    signature, arguments = filter_signature(problem), filter_arguments(problem, mask)
    return (Pass("correlate_register_blocked", function, signature, launch, arguments),)


VARIANT = Variant(
    key="register-blocked",
    title="Register-blocked",
    device=DeviceKind.CUDA,
    idea="Each thread keeps 4 rows of results in registers and reads each input row once, 16 bytes at a time.",
    default_block=Block(32, WARPS),
    plan=plan,
    work=work,
    prepare=prepare_passes(passes),
    unsupported=unsupported,
    passes=passes,
    uses_block=False,
)
