"""Compression: the discrete cosine transform of 8 x 8 pixels, quantised as in JPEG, and the picture back.

What it is held to and what it answers is in `jpeg.py`. Coefficients and samples lie one below the other.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from engine.compiled.late_names import njit
from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32, jit_for
from engine.device.result_rules import WHOLE_NUMBERS_ONLY
from engine.geometry import block as blocks
from engine.geometry.block import FLOAT_BYTES, Block, Limits, Refusal, blocks_along
from engine.results.problem import Work
from engine.variants.operations import jpeg
from engine.variants.operations.jpeg import SIDE
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant
from engine.work.operations.contract import Operation, Parameter, ResultKind, operation_work
from engine.work.operations.patch import Patch
from engine.work.problem import OperationProblem, Shape

# Added and subtracted, it rounds magnitudes below 2^22.
WHOLE = WHOLE_NUMBERS_ONLY


def coefficients(problem: OperationProblem) -> Shape:
    """Return rows, columns and layers of a thread per coefficient: rows and columns are multiples of 8."""
    rows, columns, channels = problem.result_shape
    return rows // 2, columns, channels


def dct_arguments(problem: OperationProblem, patch: Patch | None) -> tuple[Any, ...]:
    """Return the arguments of a kernel: cosines, steps, middle grey, width, columns of the coefficients."""
    cosines = jpeg.basis64().astype(np.float32)
    width, columns = problem.width, problem.result_shape[1]
    return cosines, jpeg.steps_of(problem), jpeg.middle_of(problem), width, columns


BLOCKS = 32
"""At once: both buffers of a colour picture are 48 KB."""


@CpuCode
def cpu_code():
    """`cpu-dct`: blocks of 8 x 8 pixels one after another, on all cores.

    Idea
        A core takes some blocks of a row of blocks, cell by cell side by side: all arithmetic is along lines
        of many blocks, in vectors. Columns are transformed first, then rows; the coefficients are quantised,
        and the same is done backwards.
    What it saves
        Two sums of 8 products for a coefficient instead of one of 64.
    Limit
        32 multiply-adds for each sample: arithmetic.
    """

    @njit
    def load(image, begin, left, channels, blocks, middle, side, cells):
        """Take in eight rows of the picture, less middle grey; its last row and column are repeated."""
        height, width = image.shape[0], image.shape[1] // channels
        for x in range(side):
            row = image[min(begin + x, height - 1)]
            for y in range(side):
                line = cells[8 * x + y]
                for block in range(blocks):
                    at = min(left + 8 * block + y, width - 1) * channels
                    for channel in range(channels):
                        sample = np.float32(row[np.uintp(at + channel)])
                        line[np.uintp(block * channels + channel)] = sample - middle

    @njit
    def store(cells, begin, left, channels, blocks, side, out):
        for x in range(side):
            row = out[begin + x]
            for y in range(side):
                line = cells[8 * x + y]
                for block in range(blocks):
                    at = (left + 8 * block + y) * channels
                    for channel in range(channels):
                        row[np.uintp(at + channel)] = line[np.uintp(block * channels + channel)]

    @njit
    def weighted(lines, first, step, basis, begin, across, lanes, out):
        """Write what eight lines add up to, each times its number of the basis."""
        for at in range(lanes):
            total = np.float32(0.0)
            for k in range(8):
                total += basis[begin + across * k] * lines[first + step * k, at]
            out[at] = total

    @njit
    def quantise(line, step, whole, lanes):
        for at in range(lanes):
            # In float32 the sum with `whole` has no fraction left.
            line[at] = (line[at] / step + whole) - whole

    @njit
    def change(line, factor, added, lanes):
        for at in range(lanes):
            line[at] = line[at] * factor + added

    def transform(image, out, first, last, worker, channels, basis, steps, middle, whole, cells):
        """Transform rows of blocks; `cells` is (2 x workers, 64, blocks x C), `basis` and `steps` are (64,).

        Cell (x, y) of all blocks is line 8 x + y of `cells`; `whole` makes a sum a whole number by being
        added and subtracted.
        """
        a, b = cells[2 * worker], cells[2 * worker + 1]
        half, columns = out.shape[0] // 2, out.shape[1] // channels
        blocks = cells.shape[2] // channels
        # The compiler would write the loops over rows, columns and cells 8 and 64 times.
        side = steps.size // 8
        for block_row in range(first, last):
            begin = block_row * 8
            for left in range(0, columns, 8 * blocks):
                count = min(blocks, (columns - left) // 8)
                lanes = count * channels
                load(image, begin, left, channels, count, middle, side, a)
                # Columns, then rows; of the basis row i is the cosines of a frequency.
                for i in range(side):
                    for y in range(side):
                        weighted(a, y, 8, basis, 8 * i, 1, lanes, b[8 * i + y])
                for i in range(side):
                    for j in range(side):
                        weighted(b, 8 * i, 1, basis, 8 * j, 1, lanes, a[8 * i + j])
                        quantise(a[8 * i + j], steps[8 * i + j], whole, lanes)
                store(a, begin, left, channels, count, side, out)
                for cell in range(side * side):
                    change(a[cell], steps[cell], np.float32(0.0), lanes)
                for x in range(side):
                    for j in range(side):
                        weighted(a, j, 8, basis, x, 8, lanes, b[8 * x + j])
                for x in range(side):
                    for y in range(side):
                        weighted(b, 8 * x, 1, basis, y, 8, lanes, a[8 * x + y])
                        change(a[8 * x + y], np.float32(1.0), middle, lanes)
                store(a, half + begin, left, channels, count, side, out)

    return transform


def _prepare(problem: OperationProblem, patch: object) -> object:
    cosines, steps, middle, _, columns = dct_arguments(problem, None)
    arguments = (problem.channels, cosines.reshape(-1), steps.reshape(-1), middle, WHOLE)
    lanes = min(BLOCKS, columns // SIDE) * problem.channels
    return cpu_code.bands(
        problem,
        SIDE * columns * problem.channels * 4,
        lambda workers: (*arguments, np.zeros((2 * workers, SIDE * SIDE, lanes), np.float32)),
        # Rows of blocks.
        rows=problem.result_shape[0] // (2 * SIDE),
    )


CPU = cpu_code.variant(
    _prepare,
    key="cpu-dct",
    idea="Columns, then rows of 8 × 8 blocks, many blocks side by side in vectors, on all cores.",
    # Each sample is loaded once, 32 multiply-adds; tables stay in the first cache.
    work=lambda problem, block: operation_work(
        problem, picture_loads=problem.values // 2, flops=32 * problem.values
    ),
)


@kernel_factory
def direct_kernel():
    """`dct-direct`: a thread per coefficient, each a sum of 64 products, from global memory.

    Idea
        The first launch: thread (row, column) is coefficient (row mod 8, column mod 8) of its 8 x 8 pixels.
        It adds up all 64 samples times two cosines, divides by the step and rounds. The second launch adds up
        all 64 coefficients for each sample in the same way.
    Who loads what
        Every thread loads 64 samples (or coefficients) and, for each, its cosine; the cosines of rows 8
        times. The 64 threads of a block of pixels load the same samples.
    Limit
        128 multiply-adds for each sample and back; the coefficients go through global memory between the
        launches.

    Source: COSC 407, "CUDA Memories and Performance Revisited", image compression; ITU-T T.81, A.3.3, the
    definition of the transform.
    """
    whole = WHOLE

    @cuda.jit
    def to_coefficients(image, cosines, steps, middle, width, columns, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        half = out.shape[0] // 2
        if row >= half or column >= columns:
            return
        i, j = row % 8, column % 8
        top, left = row - i, column - j
        total = float32(0.0)
        for x in range(8):
            source = min(top + x, image.shape[0] - 1)
            partial = float32(0.0)
            for y in range(8):
                sample = float32(image[source, min(left + y, width - 1), channel]) - middle
                partial += sample * cosines[j, y]
            total += partial * cosines[i, x]
        # In float32 the sum with `whole` has no fraction left.
        out[row, column, channel] = (total / steps[i, j] + whole) - whole

    return to_coefficients


@kernel_factory
def back_kernel():
    """Return the kernel of the way back."""

    @cuda.jit
    def to_samples(image, cosines, steps, middle, width, columns, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        half = out.shape[0] // 2
        if row >= half or column >= columns:
            return
        x, y = row % 8, column % 8
        top, left = row - x, column - y
        total = float32(0.0)
        for i in range(8):
            partial = float32(0.0)
            for j in range(8):
                partial += out[top + i, left + j, channel] * steps[i, j] * cosines[j, y]
            total += partial * cosines[i, x]
        out[half + row, column, channel] = total + middle

    return to_samples


DIRECT = cuda_variant(
    OperationLaunch(lambda problem, block: direct_kernel(), coefficients, dct_arguments),
    OperationLaunch(lambda problem, block: back_kernel(), coefficients, dct_arguments),
    # 64 samples and 72 cosines each way; a step for the way there, 64 for the way back.
    work=lambda problem, block: operation_work(
        problem,
        picture_loads=32 * problem.values,
        result_loads=32 * problem.values,
        other_loads=(72 + 1 + 72 + 64) * problem.values // 2,
        flops=2 * 72 * problem.values,
    ),
    key="dct-direct",
    title="Direct sums",
    idea="A thread per coefficient adds up 64 samples times cosines; a second launch goes back.",
)


def shared_bytes(problem: OperationProblem, block: Block) -> int:
    """Return the bytes of two values for each thread, and of the cosines."""
    return (2 * block.threads + SIDE * SIDE) * FLOAT_BYTES


def unsupported(
    problem: OperationProblem, constant: Patch | None, block: Block, limits: Limits
) -> Refusal | None:
    """Return why the block is illegal, or no multiple of 8 x 8; or None."""
    rows = coefficients(problem)[0]
    refusal = blocks.refuse_grid(rows, block, limits, partial(shared_bytes, problem))
    if refusal is None and block.x % SIDE == block.y % SIDE == 0:
        return None
    short = f"A block of {block} has no whole 8 × 8 pixels"
    own = Refusal("block-no-multiple", short, f"{short}; its sides must be multiples of 8.")

    def in_pixels(cells: Block) -> Block:
        return Block(cells.x * SIDE, cells.y * SIDE)

    # The nearest legal one, counted in 8 x 8 pixels.
    most = limits.max_threads // SIDE**2
    most_x, most_y = limits.max_block_x // SIDE, limits.max_block_y // SIDE
    nearest = blocks.nearest_legal(
        Block(round(block.x / SIDE), round(block.y / SIDE)),
        replace(limits, max_threads=most, max_block_x=most_x, max_block_y=most_y),
        lambda cells: shared_bytes(problem, in_pixels(cells)),
        Block(1, blocks_along(rows, blocks.MAX_GRID_Y * SIDE)),
    )
    return (refusal or own).nearest(None if nearest is None else in_pixels(nearest))


def tiled_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work, of all threads, those past the picture's whole blocks of 8 x 8 too.

    A thread stores its sample, and three values between the sums, in shared memory; each of its four sums
    reads 8 values and 8 cosines there.
    """
    launch = TILED_STEP.launch(problem, block)
    threads = launch.blocks * block.threads
    return operation_work(
        problem,
        picture_loads=threads,
        other_loads=threads + launch.blocks * SIDE * SIDE,
        shared_stores=4 * threads + launch.blocks * SIDE * SIDE,
        shared_loads=4 * 16 * threads,
        flops=4 * 8 * problem.values,
    )


@kernel_factory
def tiled_kernel(block: Block):
    """`dct-tiled`: 8 x 8 pixels in shared memory from the transform to the way back, sums of 8 instead of 64.

    Idea
        A block of threads has whole blocks of 8 x 8 pixels, a thread per sample. The transform is done along
        rows and then along columns (two sums of 8 products), and the way back along columns and then along
        rows, with a barrier between each two. The coefficients never leave the multiprocessor but to be the
        result.
    Who loads what
        Each thread loads its sample and its step of quantisation; the first 64 threads load the cosines. All
        else is in shared memory: two values per thread, and the cosines.
    What it saves
        Against `dct-direct`: one load of the picture per sample instead of 64, 32 multiply-adds instead of
        144, one launch instead of two.
    Limit
        Each multiply-add reads two values from shared memory; threads of a warp that read down a column of
        cosines share a bank.

    Source: COSC 407, "CUDA Memories and Performance Revisited", image compression and tiling; Obukhov,
    Kharlamov, "Discrete Cosine Transform for 8x8 Blocks with CUDA" (NVIDIA, 2008).
    """
    BLOCK_X, BLOCK_Y, whole = block.x, block.y, WHOLE

    @jit_for(block.threads)
    def dct_tiled(image, cosines, steps, middle, width, columns, out):
        a = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        b = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        table = cuda.shared.array((8, 8), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        half = out.shape[0] // 2
        # Place in the 8 x 8 pixels, and where they begin in the block of threads.
        i, j = ty % 8, tx % 8
        top, left = ty - i, tx - j
        thread = ty * BLOCK_X + tx
        if thread < 64:
            table[thread // 8, thread % 8] = cosines[thread // 8, thread % 8]
        sample = image[min(row, image.shape[0] - 1), min(column, width - 1), channel]
        a[ty, tx] = float32(sample) - middle
        step = steps[i, j]
        cuda.syncthreads()

        # Along rows, then along columns: coefficient (i, j).
        total = float32(0.0)
        for k in range(8):
            total += a[ty, left + k] * table[j, k]
        b[ty, tx] = total
        cuda.syncthreads()
        total = float32(0.0)
        for k in range(8):
            total += b[top + k, tx] * table[i, k]
        # In float32 the sum with `whole` has no fraction left.
        level = (total / step + whole) - whole
        a[ty, tx] = level * step
        cuda.syncthreads()

        # Back along columns, then along rows: sample (i, j).
        total = float32(0.0)
        for k in range(8):
            total += a[top + k, tx] * table[k, i]
        b[ty, tx] = total
        cuda.syncthreads()
        total = float32(0.0)
        for k in range(8):
            total += b[ty, left + k] * table[k, j]
        if row < half and column < columns:
            out[row, column, channel] = level
            out[half + row, column, channel] = total + middle

    return dct_tiled


TILED_STEP = OperationLaunch(
    lambda problem, block: tiled_kernel(block), coefficients, dct_arguments, shared_bytes
)

TILED = cuda_variant(
    TILED_STEP,
    work=tiled_work,
    unsupported=unsupported,
    key="dct-tiled",
    title="Tiles of 8 × 8",
    idea="Two sums of 8 instead of one of 64, there and back, without leaving shared memory.",
)

PARAMETERS = (
    Parameter("quality", "Quality", "As in JPEG, 1 to 100: coarse to fine steps of quantisation.",
              50, least=1, most=100),
)  # fmt: skip

COMPRESS = Operation(
    key="compress",
    title="Compression (8 × 8 DCT)",
    teaches="What JPEG does: 8 × 8 pixels as a sum of 64 cosines, of which most are quantised to 0; a block "
    "of threads keeps its pixels in shared memory from the transform to the way back.",
    result=ResultKind.NUMBERS,
    parameters=PARAMETERS,
    result_shape=jpeg.shape,
    result_dtype="float32",
    refuse=jpeg.refuse,
    verify=jpeg.verify,
    answer=jpeg.answer,
    proof="Each coefficient within half a step and the rounding bound of the float64 one, each sample within "
    "the rounding bound of the float64 transform of those coefficients.",
    variants=(CPU, DIRECT, TILED),
)
