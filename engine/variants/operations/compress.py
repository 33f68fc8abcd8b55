"""Compression: the discrete cosine transform of 8 x 8 pixels, quantised as in JPEG, and the picture back.

A variant writes two pictures one below the other, float32: the quantised coefficients (whole numbers), and
what they are transformed back to. Their rows and columns are those of the picture, filled up to multiples of
8 with its last row and column. Two proofs belong to it, as a coefficient that lies half-way between two whole
numbers may be rounded to either: each coefficient is at most half a step, and the rounding bound, from the
float64 one; and each sample is within the rounding bound of the float64 transform of those very coefficients.

The table of quantisation is JPEG's for brightness (ITU-T T.81, Annex K.1), scaled by the quality as the
Independent JPEG Group does; it is used for every channel, in steps of the picture's type.

The size is an estimate: JPEG's symbols (zeros before a coefficient, bits of the coefficient; the first one of
a block as the difference to that of the block before) with as many bits each as their entropy, and the bits
of the coefficients themselves.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.result_rules import WHOLE_NUMBERS_ONLY
from engine.errors import BadValue
from engine.geometry.block import (
    FLOAT_BYTES,
    MAX_GRID_Y,
    Block,
    Limits,
    Refusal,
    blocks_along,
    nearest_legal,
    refuse_grid,
)
from engine.image.convert import to_depth
from engine.image.metadata import brightness_steps
from engine.results.problem import Work
from engine.run.task import AnyJob
from engine.variants.operations.kernels import CpuCode, Step, cuda_variant
from engine.verify.closeness import (
    NOTHING,
    SMALLEST_SUBNORMAL,
    UNIT_ROUNDOFF,
    Verification,
    compare,
    relative_bound,
)
from engine.verify.verification import LEAST_STEP
from engine.work.operations.contract import (
    AFFORDABLE,
    Answer,
    Checkpoint,
    Operation,
    Parameter,
    Quantity,
    ResultKind,
    operation_work,
)
from engine.work.operations.patch import Patch
from engine.work.problem import OperationProblem, Shape, Value

if TYPE_CHECKING:  # imported by `kernel_factory` and `CpuCode`
    from numba import njit

    from engine.device.numba_cuda import cuda, float32, jit_for

SIDE = 8
# Beyond it, quantised coefficients could pass 2^22, up to which float32 rounds to whole numbers by an
# addition.
MOST_FLOAT = 1000.0
# Two sums of 8 products, the table's own two roundings, the level shift, and some to spare.
_ROUNDINGS = 24
# What the oracle does with a sample: four products of blocks, magnitudes included, and comparisons.
_ORACLE_COST = 60
# Header, tables and markers of a grey JPEG file.
HEADER_BYTES = 330
# Blocks whose symbols are counted at once: indices of all coefficients would take 50 bytes per sample.
_BLOCKS_AT_ONCE = 1 << 12
_BAND_SAMPLES = 1 << 18
# A symbol is zeros before a coefficient (up to 15) times this, and the coefficient's bits.
_RUN = 64
# Added and subtracted, it rounds magnitudes below 2^22.
WHOLE = WHOLE_NUMBERS_ONLY


def filled(length: int) -> int:
    """Return a side filled up to whole blocks."""
    return -(-length // SIDE) * SIDE


def shape(height: int, width: int, channels: int, parameters: dict[str, Value]) -> Shape:
    """Return the shape of coefficients and samples one below the other."""
    return 2 * filled(height), filled(width), channels


@lru_cache
def basis64() -> np.ndarray:
    """Return the orthonormal cosines, (frequency, position), float64."""
    k, x = np.mgrid[0:SIDE, 0:SIDE]
    cosines: np.ndarray = np.cos((2 * x + 1) * k * np.pi / (2 * SIDE)) * np.where(k == 0, 0.5, np.sqrt(0.5))
    cosines /= np.sqrt(2.0)
    return cosines


def basis() -> np.ndarray:
    """Return the cosines as the kernels get them, float32."""
    cosines: np.ndarray = basis64().astype(np.float32)
    return cosines


def steps_of(problem: OperationProblem) -> np.ndarray:
    """Return the steps of quantisation of each coefficient, (8, 8) float32, in units of the samples."""
    steps: np.ndarray = brightness_steps(problem.whole("quality")) * (problem.full_scale / 255.0)
    return steps.astype(np.float32)


def middle_of(problem: OperationProblem) -> np.float32:
    """Return middle grey, which is subtracted from each sample first: 128, 32768 or 0.5."""
    return np.float32(0.5 if problem.is_float else (problem.full_scale + 1) / 2)


def refuse(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse NaN and infinity, which would fill their block, and float32 samples far from 0 to 1."""
    if samples.dtype.kind != "f":
        return
    if not np.isfinite(samples).all():
        row, column, channel = np.argwhere(~np.isfinite(samples))[0].tolist()
        raise BadValue(
            f"row {row}, column {column}, channel {channel} is {samples[row, column, channel]}",
            "its block of 8 × 8 pixels would have no coefficients",
            "Replace such samples first.",
        )
    if (largest := float(np.abs(samples).max())) > MOST_FLOAT:
        why = f"the steps of quantisation are made for float32 samples of 0 to 1, at most {MOST_FLOAT:g}"
        raise BadValue(f"samples up to {largest:.3g}", why, "Divide the picture first.")


def _blocks(rows: np.ndarray) -> np.ndarray:
    """Return rows of blocks, (8 n, 8 m, C), as (n, m, C, 8, 8)."""
    height, width, channels = rows.shape
    parts = rows.reshape(height // SIDE, SIDE, width // SIDE, SIDE, channels)
    return parts.transpose(0, 2, 4, 1, 3)


def _rows(blocks: np.ndarray) -> np.ndarray:
    """Return blocks, (n, m, C, 8, 8), as rows, (8 n, 8 m, C)."""
    down, across, channels = blocks.shape[:3]
    return blocks.transpose(0, 3, 1, 4, 2).reshape(SIDE * down, SIDE * across, channels)


def _source_blocks(samples: np.ndarray, at: int) -> np.ndarray:
    rows = np.minimum(np.arange(at * SIDE, (at + 1) * SIDE), samples.shape[0] - 1)
    columns = np.minimum(np.arange(filled(samples.shape[1])), samples.shape[1] - 1)
    return _blocks(samples[rows[:, np.newaxis], columns].astype(np.float64))


def verify(values: np.ndarray, job: AnyJob, checkpoint: Checkpoint) -> Verification:
    """Compare coefficients and samples with float64, as the docstring of this module says."""
    problem = job.problem
    rows_of_blocks = _rows_to_check(problem, job.seed, job.affordable or AFFORDABLE)
    half, found = filled(problem.height), NOTHING
    for number, at in enumerate(rows_of_blocks):
        checkpoint(number / len(rows_of_blocks))
        rows = slice(at * SIDE, (at + 1) * SIDE)
        below = slice(half + rows.start, half + rows.stop)
        blocks = _source_blocks(job.operands, at)
        levels = _blocks(values[rows].astype(np.float64))
        for part, results, exact in (
            ("coefficient", values[rows], _coefficients(blocks, levels, problem)),
            ("sample", values[below], _samples(levels, problem)),
        ):
            wanted, largest, bound = map(_rows, exact)
            place = partial(_place, part, rows.start)
            verdict = compare(results, wanted, lambda: (largest, bound), place)  # noqa: B023 - called at once
            found = found.joined(verdict)
    checked = sum(min(SIDE, problem.height - at * SIDE) for at in rows_of_blocks) * problem.width
    chosen = "the first and the last row of blocks, and some between"
    return found.of_pixels(checked, problem.pixels, chosen)


def _place(part: str, top: int, at: tuple[int, ...]) -> str:
    return f"the {part} at row {top + at[0]}, column {at[1]}, channel {at[2]}"


def _rows_to_check(problem: OperationProblem, seed: int, affordable: int) -> list[int]:
    """Return the rows of blocks that the oracle transforms: all, or the first, the last and some between.

    The last one is filled up with the picture's last row: a wrong rule for that is seen nowhere else.
    """
    count = filled(problem.height) // SIDE
    cost = _ORACLE_COST * filled(problem.width) * SIDE * problem.channels
    if count * cost <= affordable:
        return list(range(count))
    step = max(LEAST_STEP, -(-count * cost // affordable))
    return sorted({0, count - 1, *range(seed % min(step, count), count, step)})


def _coefficients(
    blocks: np.ndarray, levels: np.ndarray, problem: OperationProblem
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what is nearest to quantised coefficients within half a step of the float64 ones.

    With magnitudes and bounds; of one that is not whole the bound is 0.
    """
    cosines, middle = basis64(), float(middle_of(problem))
    steps, gamma = steps_of(problem).astype(np.float64), relative_bound(_ROUNDINGS)
    shifted, size = blocks - middle, np.abs(blocks - middle) + np.abs(blocks) * UNIT_ROUNDOFF
    coefficients = cosines @ shifted @ cosines.T / steps
    sums = np.abs(cosines) @ size @ np.abs(cosines).T / steps
    bound = gamma * sums + SMALLEST_SUBNORMAL / steps.min() * 256
    with np.errstate(invalid="ignore"):
        is_whole, off = levels == np.rint(levels), levels - coefficients
        nearest = np.where(np.abs(off) <= 0.5, levels, coefficients + np.clip(off, -0.5, 0.5))
    return np.where(is_whole, nearest, np.rint(coefficients)), sums, np.where(is_whole, bound, 0.0)


def _samples(levels: np.ndarray, problem: OperationProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what quantised coefficients are transformed back to, magnitudes and bounds."""
    cosines, middle, steps = basis64(), float(middle_of(problem)), steps_of(problem).astype(np.float64)
    with np.errstate(invalid="ignore"):
        wanted = cosines.T @ (levels * steps) @ cosines + middle
        sizes = np.abs(cosines).T @ (np.abs(levels) * steps) @ np.abs(cosines) + abs(middle)
    return wanted, sizes, relative_bound(_ROUNDINGS) * sizes + 256 * SMALLEST_SUBNORMAL


@lru_cache
def zigzag() -> np.ndarray:
    """Return the order of coefficients in JPEG: the index of each in a flat block."""
    cells = [(i, j) for i in range(SIDE) for j in range(SIDE)]
    cells.sort(key=lambda cell: (sum(cell), cell[0] if sum(cell) % 2 else cell[1]))
    return np.array([i * SIDE + j for i, j in cells])


def _bits(levels: np.ndarray) -> np.ndarray:
    """Return the bits of each magnitude: 0 for 0, 1 for 1, 2 for 2 and 3, ..."""
    sizes: np.ndarray = np.frexp(np.abs(levels).astype(np.float64))[1]
    return sizes


def _entropy_bits(counts: np.ndarray) -> float:
    """Return the bits of symbols that are coded by their own frequencies, given how often each one occurs."""
    counts = counts[counts > 0].astype(np.float64)
    return float((counts * np.log2(counts.sum() / counts)).sum())


def _symbols(blocks: np.ndarray) -> tuple[np.ndarray, int]:
    """Return how often each symbol occurs in blocks (n, 64), first cells left out; bits in all."""
    block, index = np.nonzero(blocks[:, 1:])
    begins = np.diff(block, prepend=-1) != 0
    # Zeros since the block's coefficient before, or since the first cell.
    run = index - np.where(begins, 0, np.roll(index, 1) + 1)
    sizes = _bits(blocks[:, 1:][block, index])
    counts = np.bincount(run % 16 * _RUN + sizes, minlength=16 * _RUN)
    # Sixteen zeros are a symbol of their own; the end of a block is one unless its last cell is not 0.
    counts[15 * _RUN] += int((run // 16).sum())
    counts[0] += len(blocks) - np.count_nonzero(blocks[:, -1])
    return counts, int(sizes.sum())


def estimated_bytes(levels: np.ndarray) -> int:
    """Return the estimated size of quantised coefficients (rows, columns, channels), bytes."""
    total = 0.0
    rows = max(1, _BLOCKS_AT_ONCE * SIDE // levels.shape[1]) * SIDE
    for channel in range(levels.shape[2]):
        first = _bits(np.diff(levels[::SIDE, ::SIDE, channel].ravel(), prepend=0.0))
        total += _entropy_bits(np.bincount(first)) + float(first.sum())
        counts = np.zeros(16 * _RUN, np.int64)
        for top in range(0, len(levels), rows):
            part = _blocks(levels[top : top + rows, :, channel : channel + 1])
            symbols, bits = _symbols(part.reshape(-1, SIDE * SIDE)[:, zigzag()])
            counts += symbols
            total += bits
        total += _entropy_bits(counts)
    return HEADER_BYTES + int(np.ceil(total / 8))


def _bands_of(picture: np.ndarray) -> Iterator[slice]:
    """Return bands of rows, so that copies in other types take little memory."""
    rows = max(1, _BAND_SAMPLES // picture[0].size)
    return (slice(top, top + rows) for top in range(0, len(picture), rows))


def peak_signal_to_noise(picture: np.ndarray, source: np.ndarray, full_scale: float) -> float:
    """Return the PSNR, dB: 10 log10(white^2 / mean squared error); infinite for equal pictures."""
    total = 0.0
    for rows in _bands_of(picture):
        difference = picture[rows].astype(np.float64) - source[rows]
        total += float(np.einsum("rcn,rcn->", difference, difference))
    if total == 0.0:
        return float("inf")
    return float(10 * np.log10(full_scale**2 * picture.size / total))


def answer(values: np.ndarray, problem: OperationProblem, samples: np.ndarray) -> Answer:
    """Return the picture that was transformed back, with PSNR and estimated size."""
    half = filled(problem.height)
    levels = values[:half]
    back = values[half : half + problem.height, : problem.width]
    picture = np.empty(back.shape, problem.dtype)
    for rows in _bands_of(picture):
        picture[rows] = back[rows] if problem.is_float else to_depth(back[rows], problem.dtype)
    noise = peak_signal_to_noise(picture, samples, problem.full_scale)
    size, raw = estimated_bytes(levels), problem.samples * problem.itemsize
    zeros = float((levels == 0).mean())
    quantities = (
        Quantity(
            "psnr_db",
            "PSNR",
            noise,
            f"{noise:.2f} dB" if np.isfinite(noise) else "infinite (nothing changed)",
            "Peak signal to noise: 10 log10(white² / mean squared error). Past 40 dB hardly anybody sees it.",
        ),
        Quantity(
            "estimated_bytes",
            "Estimated size",
            size,
            f"{size:,} bytes",
            "Bits of the quantised coefficients by the entropy of JPEG's symbols, and a header.",
        ),
        Quantity("ratio", "Ratio", raw / size, f"{raw / size:.1f} : 1", "Uncompressed over estimated size."),
        Quantity("zeros", "Zeros", zeros, f"{100 * zeros:.1f} %", "Coefficients that are quantised to 0."),
    )
    return Answer(picture, quantities)


def coefficients(problem: OperationProblem) -> Shape:
    """Return rows, columns and layers of a thread per coefficient: rows and columns are multiples of 8."""
    return filled(problem.height), filled(problem.width), problem.channels


def tables(problem: OperationProblem) -> tuple[np.ndarray, np.ndarray, np.float32]:
    """Return cosines, steps of quantisation, and middle grey."""
    return basis(), steps_of(problem), middle_of(problem)


def dct_arguments(problem: OperationProblem, patch: Patch | None) -> tuple[object, ...]:
    """Return the arguments of a kernel: the tables, the width, and the columns of the coefficients."""
    return *tables(problem), problem.width, filled(problem.width)


def cpu_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is loaded once, 32 multiply-adds; tables stay in the first cache."""
    samples = math.prod(coefficients(problem))
    return operation_work(problem, picture_loads=samples, flops=64 * samples)


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
    def load(image, begin, left, channels, blocks, middle, cells):
        """Take in eight rows of the picture, less middle grey; its last row and column are repeated."""
        height, width = image.shape[0], image.shape[1] // channels
        for x in range(8):
            row = image[min(begin + x, height - 1)]
            for y in range(8):
                line = cells[8 * x + y]
                for block in range(blocks):
                    at = min(left + 8 * block + y, width - 1) * channels
                    for channel in range(channels):
                        sample = np.float32(row[np.uintp(at + channel)])
                        line[np.uintp(block * channels + channel)] = sample - middle

    @njit
    def store(cells, begin, left, channels, blocks, out):
        for x in range(8):
            row = out[begin + x]
            for y in range(8):
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
        for block_row in range(first, last):
            begin = block_row * 8
            for left in range(0, columns, 8 * blocks):
                count = min(blocks, (columns - left) // 8)
                lanes = count * channels
                load(image, begin, left, channels, count, middle, a)
                # Columns, then rows; of the basis row i is the cosines of a frequency.
                for i in range(8):
                    for y in range(8):
                        weighted(a, y, 8, basis, 8 * i, 1, lanes, b[8 * i + y])
                for i in range(8):
                    for j in range(8):
                        weighted(b, 8 * i, 1, basis, 8 * j, 1, lanes, a[8 * i + j])
                        quantise(a[8 * i + j], steps[8 * i + j], whole, lanes)
                store(a, begin, left, channels, count, out)
                for cell in range(64):
                    change(a[cell], steps[cell], np.float32(0.0), lanes)
                for x in range(8):
                    for j in range(8):
                        weighted(a, j, 8, basis, x, 8, lanes, b[8 * x + j])
                for x in range(8):
                    for y in range(8):
                        weighted(b, 8 * x, 1, basis, y, 8, lanes, a[8 * x + y])
                        change(a[8 * x + y], np.float32(1.0), middle, lanes)
                store(a, half + begin, left, channels, count, out)

    return transform


def _prepare(problem: OperationProblem, patch: object) -> object:
    rows, columns, _ = coefficients(problem)
    cosines, steps, middle = tables(problem)
    arguments = (problem.channels, cosines.reshape(-1), steps.reshape(-1), middle, WHOLE)
    lanes = min(BLOCKS, columns // SIDE) * problem.channels
    return cpu_code.bands(
        problem,
        SIDE * columns * problem.channels * 4,
        lambda workers: (*arguments, np.zeros((2 * workers, SIDE * SIDE, lanes), np.float32)),
        # Rows of blocks.
        rows=rows // SIDE,
    )


CPU = cpu_code.variant(
    _prepare,
    key="cpu-dct",
    idea="Columns, then rows of 8 × 8 blocks, many blocks side by side in vectors, on all cores.",
    work=cpu_work,
)


def direct_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: 64 samples and 72 cosines each way; a step for the way there, 64 for the way back."""
    samples = math.prod(coefficients(problem))
    return operation_work(
        problem,
        picture_loads=64 * samples,
        result_loads=64 * samples,
        other_loads=(72 + 1 + 72 + 64) * samples,
        flops=2 * 2 * 72 * samples,
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
    Step(lambda problem, block: direct_kernel(), coefficients, dct_arguments),
    Step(lambda problem, block: back_kernel(), coefficients, dct_arguments),
    work=direct_work,
    key="dct-direct",
    title="Direct sums",
    idea="A thread per coefficient adds up 64 samples times cosines; a second launch goes back.",
    story=direct_kernel.__doc__,
)


def shared_bytes(problem: OperationProblem, block: Block) -> int:
    """Return the bytes of two values for each thread, and of the cosines."""
    return (2 * block.threads + SIDE * SIDE) * FLOAT_BYTES


def unsupported(
    problem: OperationProblem, constant: Patch | None, block: Block, limits: Limits
) -> Refusal | None:
    """Return why the block is illegal, or no multiple of 8 x 8; or None."""
    refusal = refuse_grid(
        coefficients(problem)[0], block, limits, lambda candidate: shared_bytes(problem, candidate)
    )
    if refusal is None and block.x % SIDE == 0 and block.y % SIDE == 0:
        return None
    short = f"A block of {block} has no whole 8 × 8 pixels"
    own = Refusal("block-no-multiple", short, f"{short}; its sides must be multiples of 8.")
    return (refusal or own).nearest(_nearest(problem, block, limits))


def _nearest(problem: OperationProblem, block: Block, limits: Limits) -> Block | None:
    """Return the nearest legal block of whole 8 x 8 pixels: the nearest legal one, counted in these."""
    in_cells = replace(
        limits,
        max_threads=limits.max_threads // SIDE**2,
        max_block_x=limits.max_block_x // SIDE,
        max_block_y=limits.max_block_y // SIDE,
    )
    wanted = Block(round(block.x / SIDE), round(block.y / SIDE))
    least = Block(1, blocks_along(coefficients(problem)[0], MAX_GRID_Y * SIDE))
    found = nearest_legal(wanted, in_cells, lambda cells: shared_bytes(problem, _in_pixels(cells)), least)
    return None if found is None else _in_pixels(found)


def _in_pixels(cells: Block) -> Block:
    return Block(cells.x * SIDE, cells.y * SIDE)


def tiled_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work, of all threads, those past the picture's whole blocks of 8 x 8 too.

    A thread stores its sample, and three values between the sums, in shared memory; each of its four sums
    reads 8 values and 8 cosines there.
    """
    launch = TILED_STEP.launch(problem, block)
    threads = launch.blocks * block.threads
    samples = math.prod(coefficients(problem))
    return operation_work(
        problem,
        picture_loads=threads,
        other_loads=threads + launch.blocks * SIDE * SIDE,
        shared_stores=4 * threads + launch.blocks * SIDE * SIDE,
        shared_loads=4 * 16 * threads,
        flops=4 * 16 * samples,
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


TILED_STEP = Step(lambda problem, block: tiled_kernel(block), coefficients, dct_arguments, shared_bytes)

TILED = cuda_variant(
    TILED_STEP,
    work=tiled_work,
    unsupported=unsupported,
    key="dct-tiled",
    title="Tiles of 8 × 8",
    idea="Two sums of 8 instead of one of 64, there and back, without leaving shared memory.",
    story=tiled_kernel.__doc__,
)

COMPRESS = Operation(
    key="compress",
    title="Compression (8 × 8 DCT)",
    teaches="What JPEG does: 8 × 8 pixels as a sum of 64 cosines, of which most are quantised to 0; a block "
    "of threads keeps its pixels in shared memory from the transform to the way back.",
    result=ResultKind.NUMBERS,
    parameters=(
        Parameter(
            name="quality",
            title="Quality",
            explanation="As in JPEG, 1 to 100: coarse to fine steps of quantisation.",
            default=50,
            least=1,
            most=100,
        ),
    ),
    result_shape=shape,
    result_dtype="float32",
    refuse=refuse,
    verify=verify,
    answer=answer,
    proof="Each coefficient within half a step and the rounding bound of the float64 one, each sample within "
    "the rounding bound of the float64 transform of those coefficients.",
    variants=(CPU, DIRECT, TILED),
)
