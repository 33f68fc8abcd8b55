"""Find a patch: the normalised cross-correlation of a small picture with every position of a large one.

With w the samples of a window, m their mean, and t those of the patch, less their mean and scaled to squares
that add up to 1:

    score = sum (w - m) t / sqrt(sum (w - m)^2),   -1 to 1

and 0 for a window whose sum below the root is `LEAST_SQUARES` or less: one of one value has no score, and of
smaller squares float32 has no digits.

A variant takes from each sample the window's first one, w0, before anything else: a = w - w0 is off by u |a|
at most, where w itself may be 1e6 with a texture of 1. The bound, with m now the mean of a: with k roundings
it is off by d <= gamma_k mean(|a|). As the exact differences a - m add up to 0, so nearly do those of the
patch: a wrong mean changes the sum below the root by n d^2 only, and the one above it by d |sum t|. What a
itself is off adds u sum |a t| above and 2 u sum |a (a - m)| below, and beyond that each sum is off by gamma_k
of its magnitudes. As w0 lies in the window, none of these is more than some gamma_k of the window's spread.

Source: J. P. Lewis, "Fast normalized cross-correlation", Vision Interface 1995.
"""

from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32, jit_for
from engine.errors import BadValue
from engine.geometry.block import FLOAT_BYTES, Block
from engine.results.problem import Work
from engine.run.task import AnyJob
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF, Limits, Verification, relative_bound
from engine.verify.verification import Region, affordable_regions, verify_regions
from engine.work.operations import contract
from engine.work.operations.patch import MIDDLE, MOST_SIDE, Patch
from engine.work.problem import OperationProblem, Value

MOST_SAMPLE, LEAST_SQUARES = 1e15, 2.0**-110
# Of float64, in seven arrays at a time; in nine where NumPy keeps what an expression leaves (Python 3.14).
_BAND_VALUES = 3 << 16
# Each sample of a window takes a subtraction and an addition for the mean, then two subtractions, two
# products and two additions.
OPERATIONS_PER_CELL = 8
# Positions of a row that `cpu-match` takes at once, and the lines of as many floats that it has for them:
# first cell, mean, sums above and below the root, and their partial sums.
POSITIONS, LINES = 256, 6
CORNER: dict[str, Any] = {"default": MIDDLE, "least": MIDDLE, "most": (1 << 24) - 1, "least_word": "middle"}
SIDE: dict[str, Any] = {"default": 16, "least": 1, "most": MOST_SIDE}


def refuse(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse a patch larger than the picture, and samples whose squares float32 cannot hold."""
    height, width = int(parameters["height"]), int(parameters["width"])
    if height > samples.shape[0] or width > samples.shape[1]:
        why = f"the picture has {samples.shape[1]} × {samples.shape[0]} pixels, and the patch must lie inside"
        raise BadValue(f"a patch of {width} × {height}", why, "Choose a smaller patch.")
    if samples.dtype.kind == "f":
        finite = samples[np.isfinite(samples)]
        low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
        if max(-low, high) > MOST_SAMPLE:
            what = f"samples up to {max(-low, high):.3g}"
            raise BadValue(what, "their squares pass the range of float32", "Divide the picture first.")
        if (high - low) > 0.0 and (high - low) ** 2 <= LEAST_SQUARES:
            what = f"samples that differ by {high - low:.3g} at most"
            raise BadValue(what, "their squares are too small for float32", "Multiply the picture first.")


def scores(samples: np.ndarray, patch: Patch, region: Region) -> tuple[np.ndarray, Limits]:
    """Return scores of a region of positions, float64, by the definition; what gives their limits."""
    (rows, columns), (height, width, channels) = region.ranges, patch.shape
    weights = patch.astype(np.float64).reshape(-1)
    part = samples[rows.start : rows[-1] + height, columns.start : columns[-1] + width].astype(np.float64)
    views = sliding_window_view(part, (height, width), axis=(0, 1))[:: region.step, :: region.step]
    # A copy: of a patch of one pixel the reshaped array would still be the view, which cannot be written.
    windows = np.array(views.transpose(0, 1, 3, 4, 2).reshape(len(rows), len(columns), weights.size))
    # A partial sum per row of the window and channel, then their sum.
    gamma = relative_bound(width + height * channels + 7)
    is_finite = np.isfinite(windows).all(axis=2)
    windows[~is_finite] = 0.0
    windows -= windows[..., :1].copy()
    size = np.abs(windows)
    off = gamma * size.mean(axis=2) + 2 * SMALLEST_SUBNORMAL
    windows -= windows.mean(axis=2, keepdims=True)
    apart = np.abs(windows)
    above = windows @ weights
    below = np.einsum("rcn,rcn->rc", windows, windows)
    above_off = (gamma * apart + UNIT_ROUNDOFF * size) @ np.abs(weights) + off * (
        abs(weights.sum()) + gamma * np.abs(weights).sum()
    )
    below_off = (
        (gamma * below + 2 * UNIT_ROUNDOFF * (1 + gamma) * np.einsum("rcn,rcn->rc", apart, size))
        + 2 * (1 + gamma) * weights.size * (off * off + SMALLEST_SUBNORMAL)
        + 2 * UNIT_ROUNDOFF**2 * np.einsum("rcn,rcn->rc", size, size)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        score = above / np.sqrt(below)
        least = below - below_off
        bound = above_off / np.sqrt(least) + np.abs(score) * below_off / least + 8 * UNIT_ROUNDOFF
    # Near the least sum either may be right, the score or 0.
    is_flat, is_either = below <= LEAST_SQUARES, np.abs(below - LEAST_SQUARES) <= below_off
    bound = np.where(is_either, np.abs(score) + 8 * UNIT_ROUNDOFF, np.where(is_flat, 0.0, bound))
    score = np.where(is_flat, 0.0, score)
    score[~is_finite], bound[~is_finite] = np.nan, 0.0
    return score[..., np.newaxis], lambda: (np.ones((*score.shape, 1)), bound[..., np.newaxis])


def verify(values: np.ndarray, job: AnyJob, checkpoint: contract.Checkpoint) -> Verification:
    """Compare the scores with the definition in float64."""
    patch, (rows, columns, _) = job.constant, job.problem.result_shape
    assert patch is not None
    affordable = job.affordable or contract.AFFORDABLE
    return verify_regions(
        values,
        affordable_regions(rows, columns, (1, 1), 8 * patch.size, affordable, job.seed),
        max(1, _BAND_VALUES // patch.size),
        partial(scores, job.operands, patch),
        checkpoint,
    )


def answer(values: np.ndarray, problem: OperationProblem, samples: np.ndarray) -> contract.Answer:
    """Return the best match, marked in the picture."""
    comparable = np.where(np.isnan(values[..., 0]), -2.0, values[..., 0])
    row, column = np.unravel_index(int(comparable.argmax()), comparable.shape)
    best = float(comparable[row, column])
    if best < -1.5:
        why = "every position of the picture has NaN or infinity in it"
        raise BadValue("the patch", why, "Mend the picture.")
    mark = contract.Mark(int(row), int(column), problem.whole("height"), problem.whole("width"))
    alike, corner = "1: the same but for brightness and contrast.", "Of the upper left corner, pixels."
    quantities = (
        contract.Quantity("score", "Best score", best, f"{best:.4f}", alike),
        contract.Quantity("column", "Column", mark.column, f"{mark.column}", corner),
        contract.Quantity("row", "Row", mark.row, f"{mark.row}", corner),
    )
    return contract.Answer(samples, quantities, mark=mark)


def match_arguments(problem: OperationProblem, patch: Patch | None) -> tuple[object, ...]:
    """Return the patch, the width, and the positions across."""
    assert patch is not None
    return np.ascontiguousarray(patch), problem.width, problem.result_shape[1]


def window_work(problem: OperationProblem, first_cells: int) -> Work:
    """Return the work: each position reads its window twice, the patch once, and so many cells beside."""
    cells = problem.whole("height") * problem.whole("width") * problem.channels
    return contract.operation_work(
        problem,
        picture_loads=problem.values * (2 * cells + first_cells),
        other_loads=problem.values * cells,
        flops=OPERATIONS_PER_CELL * problem.values * cells,
    )


@CpuCode
def cpu_code():
    """`cpu-match`: normalised cross-correlation in vectors of neighbouring positions, on all cores.

    Idea
        A core takes 256 positions of a row at once: the mean of each one's window first, then what the patch
        and the window less its mean add up to. All inner loops run along the positions, in vectors.
    Limit
        Twice as many multiply-adds as the patch has samples, for each position. A transform would take fewer
        for large patches.
    """

    def match(planes, out, first, last, worker, patch, lines):
        """Write the score of each position; `planes` is (C, H, W) float32, `patch` (C, h, w)."""
        begin = worker * LINES
        origin, mean, above = lines[begin], lines[begin + 1], lines[begin + 2]
        below, part, part_below = lines[begin + 3], lines[begin + 4], lines[begin + 5]
        channels, height, width = patch.shape
        zero = np.float32(0.0)
        count = np.float32(channels * height * width)
        for row in range(first, last):
            for left in range(0, out.shape[1], POSITIONS):
                positions = min(POSITIONS, out.shape[1] - left)
                for at in range(positions):
                    mean[at] = above[at] = below[at] = zero
                    origin[at] = planes[0, row, left + at]
                for channel in range(channels):
                    for m in range(height):
                        line = planes[channel, row + m]
                        for at in range(positions):
                            part[at] = zero
                        for n in range(width):
                            for at in range(positions):
                                part[at] += line[left + at + n] - origin[at]
                        for at in range(positions):
                            mean[at] += part[at]
                for at in range(positions):
                    mean[at] /= count
                for channel in range(channels):
                    for m in range(height):
                        line = planes[channel, row + m]
                        for at in range(positions):
                            part[at] = part_below[at] = zero
                        for n in range(width):
                            weight = patch[channel, m, n]
                            for at in range(positions):
                                difference = line[left + at + n] - origin[at] - mean[at]
                                part[at] += difference * weight
                                part_below[at] += difference * difference
                        for at in range(positions):
                            above[at] += part[at]
                            below[at] += part_below[at]
                for at in range(positions):
                    score = zero
                    if below[at] > LEAST_SQUARES:
                        score = above[at] / np.sqrt(below[at])
                    # 0, or NaN where a sample is NaN or infinite.
                    out[row, left + at] = score + (mean[at] - mean[at])

    return match


def _prepare(problem: OperationProblem, patch: Patch | None) -> object:
    assert patch is not None
    weights = np.ascontiguousarray(np.moveaxis(patch, 2, 0))
    rows, columns, _ = problem.result_shape
    return cpu_code.bands(
        problem,
        columns * weights.size,
        lambda workers: (weights, np.zeros((workers * LINES, POSITIONS), np.float32)),
        rows=rows,
        source_of=lambda image: np.ascontiguousarray(np.moveaxis(image, 2, 0), np.float32),
        target_of=lambda out: out[..., 0],
    )


CPU = cpu_code.variant(
    _prepare,
    key="cpu-match",
    idea="256 neighbouring positions at once in vectors: the mean of each window, then the sums over it.",
    work=lambda problem, block: window_work(problem, 0),
)


@kernel_factory
def naive_kernel():
    """`match-naive`: a thread per position, everything in global memory.

    Idea
        Thread (row, column) compares the patch with the window whose upper left corner it is: the mean of
        what its cells are more than its first one, then the sums of (w - m) t and (w - m)^2.
    Who loads what
        Every thread loads its window twice and the patch once from global memory. The threads of a warp read
        neighbouring cells, and all of them the same cell of the patch (one broadcast).
    Limit
        16 x 16 pixels of three channels are 2,304 loads per thread, nearly all of which its neighbours make
        too.

    Source: COSC 407, "CUDA Memories and Performance Revisited", image correlation.
    """
    LEAST = np.float32(LEAST_SQUARES)

    @cuda.jit
    def match_naive(image, patch, width, columns, out):
        column, row = cuda.grid(2)
        if row >= out.shape[0] or column >= columns:
            return
        height, across, channels = patch.shape
        # A difference of near numbers is exact, however large they are.
        origin, total = float32(image[row, column, 0]), float32(0.0)
        for channel in range(channels):
            for m in range(height):
                partial = float32(0.0)
                for n in range(across):
                    partial += float32(image[row + m, column + n, channel]) - origin
                total += partial
        mean = total / float32(height * across * channels)
        above = below = float32(0.0)
        for channel in range(channels):
            for m in range(height):
                partial = partial_below = float32(0.0)
                for n in range(across):
                    difference = float32(image[row + m, column + n, channel]) - origin - mean
                    partial += difference * patch[m, n, channel]
                    partial_below += difference * difference
                above += partial
                below += partial_below
        score = float32(0.0)
        # A window of one value has no score.
        if below > LEAST:
            score = above / float32(sqrt(below))
        # 0, or NaN where a sample is NaN or infinite.
        out[row, column, 0] = score + (mean - mean)

    return match_naive


NAIVE = cuda_variant(
    OperationLaunch(
        lambda problem, block: naive_kernel(), lambda problem: problem.result_shape, match_arguments
    ),
    work=lambda problem, block: window_work(problem, 1),
    key="match-naive",
    title="Direct sums",
    idea="One thread per position reads its window twice and the patch once from global memory.",
)


def tiled_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each tile is loaded twice for each channel, each window twice, a cell once more."""
    height, width, launch = problem.whole("height"), problem.whole("width"), TILED_STEP.launch(problem, block)
    cells = height * width * problem.channels
    # The cells along each axis that all tiles have inside the picture.
    down, across = (
        sum(min(side + of_patch - 1, length - first) for first in range(0, length - of_patch + 1, side))
        for length, side, of_patch in ((problem.height, block.y, height), (problem.width, block.x, width))
    )
    return contract.operation_work(
        problem,
        picture_loads=2 * down * across * problem.channels,
        other_loads=problem.values * cells,
        shared_loads=problem.values * (2 * cells + 1),
        shared_stores=2 * problem.channels * launch.blocks * launch.shared_bytes // FLOAT_BYTES,
        flops=OPERATIONS_PER_CELL * problem.values * cells,
    )


@kernel_factory
def tiled_kernel(patch_rows: int, patch_columns: int, block: Block):
    """`match-tiled`: the windows of a block's positions overlap in one tile of shared memory.

    Idea
        The block copies the cells that its positions look at, a channel at a time, to shared memory; all its
        threads read their windows there. Once for the means, and once more for the sums.
    Who loads what
        Each cell of the tile is loaded twice for each channel. The patch is read from global memory, the same
        cell by all threads of a warp at once.
    What it saves
        Against `match-naive`: 16 x 16 pixels and a block of 32 x 8 load 2 x 1,081 cells per channel for 256
        positions, 8.4 for each instead of 512.
    Limit
        The patch decides the tile: with 64 x 64 pixels and 32 x 8 threads 27 KB, one or two blocks a
        multiprocessor. Each multiply-add still reads shared memory. The unrolled loops take 96 registers; of
        blocks of 1024 threads, which have 64 each, some values go through local memory (152 bytes per
        thread).

    Source: COSC 407, "CUDA Memories and Performance Revisited", image correlation and tiling.
    """
    LEAST = np.float32(LEAST_SQUARES)
    ROWS, COLUMNS, BLOCK_X, BLOCK_Y = patch_rows, patch_columns, block.x, block.y
    TILE_Y, TILE_X = block.y + patch_rows - 1, block.x + patch_columns - 1

    @jit_for(block.threads)
    def match_tiled(image, patch, width, columns, out):
        tile = cuda.shared.array((TILE_Y, TILE_X), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        left, top = cuda.blockIdx.x * BLOCK_X, cuda.blockIdx.y * BLOCK_Y
        height, channels = image.shape[0], patch.shape[2]
        works = top + y < out.shape[0] and left + x < columns
        origin = total = float32(0.0)
        mean = above = below = float32(0.0)
        # Every channel for the mean, then every channel for the sums.
        for turn in range(2 * channels):
            channel = turn if turn < channels else turn - channels
            for i in range(y, TILE_Y, BLOCK_Y):
                for j in range(x, TILE_X, BLOCK_X):
                    cell = float32(0.0)
                    if top + i < height and left + j < width:
                        cell = float32(image[top + i, left + j, channel])
                    tile[i, j] = cell
            # No thread may read a cell before it is stored.
            cuda.syncthreads()
            if works and turn == 0:
                # A difference of near numbers is exact, however large they are.
                origin = tile[y, x]
            if works and turn < channels:
                for m in range(ROWS):
                    partial = float32(0.0)
                    for n in range(COLUMNS):
                        partial += tile[y + m, x + n] - origin
                    total += partial
                mean = total / float32(ROWS * COLUMNS * channels)
            elif works:
                for m in range(ROWS):
                    partial = partial_below = float32(0.0)
                    for n in range(COLUMNS):
                        difference = tile[y + m, x + n] - origin - mean
                        partial += difference * patch[m, n, channel]
                        partial_below += difference * difference
                    above += partial
                    below += partial_below
            # No thread may store the next channel's cells before all have read this one's.
            cuda.syncthreads()
        if works:
            score = float32(0.0)
            # A window of one value has no score.
            if below > LEAST:
                score = above / float32(sqrt(below))
            # 0, or NaN where a sample is NaN or infinite.
            out[top + y, left + x, 0] = score + (mean - mean)

    return match_tiled


TILED_STEP = OperationLaunch(
    lambda problem, block: tiled_kernel(problem.whole("height"), problem.whole("width"), block),
    lambda problem: problem.result_shape,
    match_arguments,
    lambda problem, block: (
        (block.y + problem.whole("height") - 1) * (block.x + problem.whole("width") - 1) * FLOAT_BYTES
    ),
)

TILED = cuda_variant(
    TILED_STEP,
    work=tiled_work,
    key="match-tiled",
    title="Tiled windows",
    idea="The block loads the cells of all its windows into shared memory, a channel at a time.",
)

FIND_PATCH = contract.Operation(
    key="find-patch",
    title="Find a patch (correlation)",
    teaches="Normalised cross-correlation: a thread per position compares the patch with what lies there, "
    "whatever its brightness and contrast; a block's shared tile serves neighbouring positions.",
    result=contract.ResultKind.MARK,
    parameters=tuple(
        contract.Parameter(name, name.capitalize(), explanation, unit="px", **traits)
        for name, explanation, traits in (
            ("left", "Left edge of the patch (-1: centred). Not used where the patch is a file.", CORNER),
            ("top", "Upper edge of the patch (-1: centred). Not used where the patch is a file.", CORNER),
            ("width", "Pixels of the patch across; of a file, its own.", SIDE),
            ("height", "Pixels of the patch down; of a file, its own.", SIDE),
        )
    ),
    takes_patch=True,
    # One score for each position where the patch lies inside.
    result_shape=lambda height, width, channels, parameters: (
        height - int(parameters["height"]) + 1,
        width - int(parameters["width"]) + 1,
        1,
    ),
    result_dtype="float32",
    refuse=refuse,
    verify=verify,
    answer=answer,
    proof="A bound on the rounding of each window, from its magnitudes.",
    variants=(CPU, NAIVE, TILED),
)
