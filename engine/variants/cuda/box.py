"""`box`: masks of equal weights by running sums, in one kernel; the cost hardly depends on the side.

Idea
    Along the rows, and then down the columns, a window is the end of one segment and the beginning of a later one
    (`engine.variants.box_mask`), so that each sample is added about three times in each direction whatever the mask.
Who loads what
    A block walks down a strip of its columns, 8 input rows at a time. Its warps copy these into shared memory, neighbouring
    threads neighbouring samples. Then each thread adds up one segment of one row from both of its ends, and after that
    each thread follows one column: a ring of as many sums as the mask has rows, in shared memory, holds what the rows before
    add up to.
What it saves
    Against the separable variants: rows + columns multiply-adds become about six additions, and no values between two passes
    go through global memory.
Limit
    Memory, and what a strip reads beyond its results: columns - 1 cells beside it and rows - 1 above it.

Along the rows segments have at most 16 cells, so that there are enough of them for all threads; a longer window has whole
segments between its end and its beginning, three for 63 columns.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import types

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.border import Border
from engine.device.cuda_kernels import float32, image_type, prepare_passes, result_type
from engine.device.index_rules import cuda_rule
from engine.device.kept_kernels import kept_on_disk
from engine.device.numba_cuda import cuda
from engine.device.result_rules import cuda_result
from engine.errors import UnsupportedVariant
from engine.mask.mask import Mask
from engine.metrics.traffic import cells_inside
from engine.problem import Problem
from engine.variants.box_mask import refuse_other_masks
from engine.variants.contract import DeviceKind, Launch, Pass, Place, Variant
from engine.variants.cuda.geometry import MAX_GRID_Y, blocks_along
from engine.work import Work, filter_work

WARPS = 4
# Input rows that a block takes at a time: two for each warp.
BATCH = 2 * WARPS
LONGEST_SEGMENT = 16
# A ring of more rows leaves no room for four warps.
ROWS_OF_FOUR_WARPS = 63
LEAST_ROWS = 32
MOST_ROWS = 64
# With fewer blocks some multiprocessors of a large device would have none or one.
BLOCKS_WANTED = 512


@dataclass(frozen=True, slots=True)
class Strip:
    """The shape of a block's work.

    Parameters
    ----------
    mask_rows, mask_columns, channels : int
    threads : int
        One for each sample across, except the last few where three channels do not divide them.
    """

    mask_rows: int
    mask_columns: int
    channels: int
    threads: int

    @property
    def pixels(self) -> int:
        """Results of a row, pixels."""
        return self.threads // self.channels

    @property
    def segment(self) -> int:
        """Cells of a segment of a row."""
        return min(self.mask_columns, LONGEST_SEGMENT)

    @property
    def segments(self) -> int:
        """Segments of a row that a batch holds: every window ends in one of them."""
        return -(-(self.pixels + self.mask_columns - 1) // self.segment)

    @property
    def first_segments(self) -> int:
        """Segments of a row that windows begin in."""
        return -(-self.pixels // self.segment)

    @property
    def row_samples(self) -> int:
        """Samples of a row that a batch holds."""
        return self.segments * self.segment * self.channels

    @property
    def shared_bytes(self) -> int:
        """Bytes of the samples and of the sums from both ends of the segments, and of the ring."""
        fronts, backs = self.row_samples + 1, self.first_segments * self.segment * self.channels + 1
        return 4 * (BATCH * (fronts + backs) + self.mask_rows * self.threads)


def strip_shape(mask_shape: tuple[int, int], channels: int) -> Strip:
    """Return the shape of a block's work."""
    warps = WARPS if mask_shape[0] <= ROWS_OF_FOUR_WARPS else WARPS // 2
    return Strip(*mask_shape, channels, 32 * warps)


def strip_rows(problem: Problem) -> int:
    """Return the rows of results of a block: so many that few rows are read twice, so few that there are many blocks."""
    across = blocks_along(problem.width, strip_shape(problem.mask_shape, problem.channels).pixels)
    enough_blocks = max(LEAST_ROWS, blocks_along(problem.height * across, BLOCKS_WANTED))
    few_rows_twice = max(MOST_ROWS, 4 * (problem.mask_shape[0] - 1))
    return max(min(enough_blocks, few_rows_twice), blocks_along(problem.height, MAX_GRID_Y))


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch; the block is the variant's own."""
    shape = strip_shape(problem.mask_shape, problem.channels)
    grid = (blocks_along(problem.width, shape.pixels), blocks_along(problem.height, strip_rows(problem)), 1)
    return (Launch(grid, (32, shape.threads // 32, 1), shape.shared_bytes),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each block loads whole batches of rows, and follows its own columns down."""
    shape, (launch,) = strip_shape(problem.mask_shape, problem.channels), plan(problem, block)
    rows, (across, down, _) = strip_rows(problem), launch.grid
    ghosts, channels = problem.border.has_ghost_cells, problem.channels
    batches = [
        blocks_along(min(rows, problem.height - index * rows) + shape.mask_rows - 1, BATCH)
        for index in range(down)
    ]
    wide, high = across * shape.row_samples, sum(batches) * BATCH
    if ghosts:
        reach = shape.segments * shape.segment
        lefts = (index * shape.pixels - problem.anchor[1] for index in range(across))
        wide = channels * sum(cells_inside(left, left + reach, problem.width) for left in lefts)
        tops = (index * rows - problem.anchor[0] for index in range(down))
        high = sum(
            cells_inside(top, top + count * BATCH, problem.height)
            for top, count in zip(tops, batches, strict=True)
        )
    held = sum(batches) * BATCH * across * shape.row_samples
    backs = sum(batches) * BATCH * across * shape.first_segments * shape.segment * channels
    down_loads, down_stores = _column_accesses(problem, shape, rows)
    return filter_work(
        problem,
        picture_loads=wide * high,
        shared_loads=held + backs + down_loads,
        shared_stores=2 * held + backs + down_stores,
        multiply_adds=held + backs,
    )


def _column_accesses(problem: Problem, shape: Strip, rows: int) -> tuple[int, int]:
    """Return the loads and stores of shared memory by the threads that follow the columns, over the whole picture."""
    steps = loads = stores = 0
    for top in range(0, problem.height, rows):
        taken = min(rows, problem.height - top) + shape.mask_rows - 1
        ends = taken // shape.mask_rows
        steps += taken
        stores += taken + ends * max(0, shape.mask_rows - 2)
        # Each result reads one sum of the ring, except where its window is a whole segment.
        loads += taken - (shape.mask_rows - 1) - ends + 2 * ends * max(0, shape.mask_rows - 2)
    parts = 0
    for column in range(problem.width):
        pixel = column % shape.pixels
        parts += 1 + (pixel + shape.mask_columns - 1) // shape.segment - pixel // shape.segment
    channels = problem.channels
    return channels * (steps * parts + problem.width * loads), channels * problem.width * stores


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is no box, or the device's shared memory too small; None if all is well."""
    refusal = refuse_other_masks(mask, "register-blocked or tiled")
    if refusal is not None:
        return refusal
    needed = strip_shape(problem.mask_shape, problem.channels).shared_bytes
    if needed > limits.shared_bytes:
        rows, columns = problem.mask_shape
        return Refusal(
            f"A mask of {rows} x {columns} on {problem.channels} channels needs {needed:,} bytes of shared memory for its "
            f"sums; a block has {limits.shared_bytes:,}. Use tiled, or fewer channels."
        )
    return None


# What the compiler must know: few of them are in use at a time.
@lru_cache(maxsize=64)
@kept_on_disk
def kernel(border: Border, mask_shape: tuple[int, int], channels: int, result_dtype: str):
    """Return the kernel for a border, a mask shape, a number of channels and a type of result."""
    rule, as_result = cuda_rule(border), cuda_result(result_dtype)
    shape = strip_shape(mask_shape, channels)
    CHANNELS, THREADS, PIXELS = channels, shape.threads, shape.pixels
    WARPS_DOWN = THREADS // 32
    SEGMENT, SEGMENTS, FIRST_SEGMENTS = shape.segment, shape.segments, shape.first_segments
    ROW_SAMPLES = shape.row_samples
    # An odd number of banks from row to row: threads that walk along neighbouring rows never meet in one.
    FRONT_PITCH, BACK_PITCH = ROW_SAMPLES + 1, FIRST_SEGMENTS * SEGMENT * CHANNELS + 1
    MASK_ROWS, MASK_COLUMNS = mask_shape

    @cuda.jit
    def correlate_box(image, weight, width, rows, anchor_row, anchor_column, ghost_value, offset, out):
        front = cuda.shared.array((BATCH, FRONT_PITCH), float32)
        back = cuda.shared.array((BATCH, BACK_PITCH), float32)
        ring = cuda.shared.array((MASK_ROWS, THREADS), float32)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        thread = warp * 32 + lane
        height = image.shape[0]
        first_row = cuda.blockIdx.y * rows
        first_pixel = cuda.blockIdx.x * PIXELS
        left = first_pixel - anchor_column
        inside_across = left >= 0 and left + SEGMENTS * SEGMENT <= width
        input_rows = min(rows, height - first_row) + MASK_ROWS - 1
        pixel = thread // CHANNELS
        channel = thread - pixel * CHANNELS
        first_segment = pixel // SEGMENT
        last_segment = (pixel + MASK_COLUMNS - 1) // SEGMENT
        is_result = pixel < PIXELS and first_pixel + pixel < width
        place = 0
        rows_before = float32(0.0)

        for begin in range(0, input_rows, BATCH):
            top = first_row - anchor_row + begin
            # Load a batch of rows; a row of a warp at a time, but both rows of a warp under way.
            if inside_across and top >= 0 and top + BATCH <= height:
                for row in range(warp, BATCH, WARPS_DOWN):
                    for sample in range(lane, ROW_SAMPLES, 32):
                        column = sample // CHANNELS
                        value = image[top + row, left + column, sample - column * CHANNELS]
                        front[row, sample] = float32(value)
            else:
                for row in range(warp, BATCH, WARPS_DOWN):
                    source_row = rule(top + row, height)
                    for sample in range(lane, ROW_SAMPLES, 32):
                        column = sample // CHANNELS
                        source_column = rule(left + column, width)
                        value = ghost_value
                        if source_row >= 0 and source_column >= 0:
                            value = float32(image[source_row, source_column, sample - column * CHANNELS])
                        front[row, sample] = value
            # Nobody may add up what others have not stored yet.
            cuda.syncthreads()

            # Add up each segment from its end (where windows begin in it) and from its beginning, in place.
            for item in range(thread, BATCH * SEGMENTS * CHANNELS, THREADS):
                row = item % BATCH
                segment = item // BATCH // CHANNELS
                first = segment * SEGMENT * CHANNELS + item // BATCH - segment * CHANNELS
                if segment < FIRST_SEGMENTS:
                    total = float32(0.0)
                    for cell in range(SEGMENT):
                        sample = first + (SEGMENT - 1 - cell) * CHANNELS
                        total += front[row, sample] * weight
                        back[row, sample] = total
                total = float32(0.0)
                for cell in range(SEGMENT):
                    sample = first + cell * CHANNELS
                    total += front[row, sample] * weight
                    front[row, sample] = total
            cuda.syncthreads()

            # Follow each column down. The ring holds rows of this segment of rows up to `place`, and later the sums of
            # rows of the segment before, each from there to its last row.
            if is_result:
                for row in range(min(BATCH, input_rows - begin)):
                    total = back[row, thread]
                    for segment in range(first_segment + 1, last_segment):
                        total += front[row, ((segment + 1) * SEGMENT - 1) * CHANNELS + channel]
                    if last_segment > first_segment:
                        total += front[row, thread + (MASK_COLUMNS - 1) * CHANNELS]
                    rows_before = total if place == 0 else rows_before + total
                    result_row = begin + row - (MASK_ROWS - 1)
                    if result_row >= 0:
                        result = rows_before
                        if place < MASK_ROWS - 1:
                            result += ring[place + 1, thread]
                        out[first_row + result_row, first_pixel + pixel, channel] = as_result(result + offset)
                    ring[place, thread] = total
                    place += 1
                    if place == MASK_ROWS:
                        place = 0
                        for last in range(MASK_ROWS - 2, 0, -1):
                            ring[last, thread] += ring[last + 1, thread]
            # The next batch overwrites what is read here.
            cuda.syncthreads()

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
    numbers = (types.int64,) * 4
    signature = (image_type(problem), float32, *numbers, float32, float32, result_type(problem))
    arguments = (
        Place.IMAGE,
        np.float32(mask.weights32[0, 0]),
        problem.width,
        strip_rows(problem),
        *problem.anchor,
        np.float32(problem.ghost_value),
        np.float32(mask.offset),
        Place.OUT,
    )
    function = kernel(problem.border, problem.mask_shape, problem.channels, problem.result_dtype)
    return (Pass("correlate_box", function, signature, launch, arguments),)


VARIANT = Variant(
    key="box",
    title="Running sums (box)",
    device=DeviceKind.CUDA,
    idea="For masks of equal weights: each window is the end of one segment and the beginning of a later one, along the rows "
    "and then down the columns, so that a large mask costs hardly more than a small one.",
    default_block=Block(32, WARPS),
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
