"""What `compress` is held to, and its answer: JPEG's transform in float64, PSNR, the estimated size.

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

from functools import lru_cache, partial

import numpy as np

from engine.errors import BadValue
from engine.image.convert import to_depth
from engine.image.metadata import brightness_steps
from engine.run.task import AnyJob
from engine.verify import closeness
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF, Verification, relative_bound
from engine.verify.verification import LEAST_STEP
from engine.work.operations.contract import AFFORDABLE, Answer, Checkpoint, Quantity
from engine.work.problem import OperationProblem, Shape, Value

SIDE = 8
# Beyond it, quantised coefficients could pass 2^22, up to which float32 rounds to whole numbers by an
# addition.
MOST_FLOAT = 1000.0
# Two sums of 8 products, the table's own two roundings, the level shift, and a margin.
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
        what = f"row {row}, column {column}, channel {channel} is {samples[row, column, channel]}"
        why = "its block of 8 × 8 pixels would have no coefficients"
        raise BadValue(what, why, "Replace such samples first.")
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


def verify(values: np.ndarray, job: AnyJob, checkpoint: Checkpoint) -> Verification:
    """Compare coefficients and samples with float64, as the docstring of this module says."""
    problem = job.problem
    rows_of_blocks = _rows_to_check(problem, job.seed, job.affordable or AFFORDABLE)
    half, total = filled(problem.height), closeness.NOTHING
    columns = np.minimum(np.arange(filled(problem.width)), problem.width - 1)
    for number, at in enumerate(rows_of_blocks):
        checkpoint(number / len(rows_of_blocks))
        rows = slice(at * SIDE, (at + 1) * SIDE)
        below = slice(half + rows.start, half + rows.stop)
        sources = np.minimum(np.arange(rows.start, rows.stop), problem.height - 1)
        blocks = _blocks(job.operands[sources[:, np.newaxis], columns].astype(np.float64))
        levels = _blocks(values[rows].astype(np.float64))
        for part, results, exact in (
            ("coefficient", values[rows], _coefficients(blocks, levels, problem)),
            ("sample", values[below], _samples(levels, problem)),
        ):
            wanted, largest, bound = map(_rows, exact)
            place = partial(_place, part, rows.start)
            verdict = closeness.compare(results, wanted, lambda: (largest, bound), place)  # noqa: B023 - called at once
            total = total.joined(verdict)
    checked = sum(min(SIDE, problem.height - at * SIDE) for at in rows_of_blocks) * problem.width
    chosen = "the first and the last row of blocks, and some between"
    return total.of_pixels(checked, problem.pixels, chosen)


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


_ABOUT_NOISE = (
    "Peak signal to noise: 10 log10(white² / mean squared error). Past 40 dB hardly anybody sees it."
)
_ABOUT_SIZE = "Bits of the quantised coefficients by the entropy of JPEG's symbols, and a header."


def answer(values: np.ndarray, problem: OperationProblem, samples: np.ndarray) -> Answer:
    """Return the picture that was transformed back, with PSNR and estimated size."""
    half = filled(problem.height)
    levels = values[:half]
    back = values[half : half + problem.height, : problem.width]
    picture, squares = np.empty(back.shape, problem.dtype), 0.0
    rows = max(1, _BAND_SAMPLES // picture[0].size)
    for top in range(0, len(picture), rows):
        # Band by band, so that copies in other types take little memory.
        band = slice(top, top + rows)
        picture[band] = back[band] if problem.is_float else to_depth(back[band], problem.dtype)
        difference = picture[band].astype(np.float64) - samples[band]
        squares += float(np.einsum("rcn,rcn->", difference, difference))
        del difference
    # Infinite for equal pictures.
    noise = float(10 * np.log10(problem.full_scale**2 * picture.size / squares)) if squares else np.inf
    noise_text = f"{noise:.2f} dB" if np.isfinite(noise) else "infinite (nothing changed)"
    size, raw = estimated_bytes(levels), problem.samples * problem.itemsize
    zeros = float((levels == 0).mean())
    quantities = (
        Quantity("psnr_db", "PSNR", noise, noise_text, _ABOUT_NOISE),
        Quantity("estimated_bytes", "Estimated size", size, f"{size:,} bytes", _ABOUT_SIZE),
        Quantity("ratio", "Ratio", raw / size, f"{raw / size:.1f} : 1", "Uncompressed over estimated size."),
        Quantity("zeros", "Zeros", zeros, f"{100 * zeros:.1f} %", "Coefficients that are quantised to 0."),
    )
    return Answer(picture, quantities)
