"""Judges a kernel: compiles it, launches it in the interpreter, compares, counts, and says what is wrong.

Launches have sizes, masks with all cells different, and fresh random pictures. What is right is the oracle of
filters in float64, and the bound of what rounding to float32 may change.

Called on: any thread; one judgement at a time uses one core.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.device.device_list import INSTALL, missing
from engine.device.launches import array_parameters
from engine.errors import Cancelled, EngineError
from engine.files.reading import read_text
from engine.geometry.border import Border
from engine.judging import cuda_c
from engine.judging.judgement import (
    Gate,
    Header,
    JudgedKernel,
    Judgement,
    NotJudged,
    Verdict,
    gate_of,
    header_of,
    lines_of,
    metrics_of,
)
from engine.mask.mask import Mask
from engine.ptx import Array, Finding, InterpretedRun, run
from engine.ptx.launch import Checkpoint
from engine.ptx.module import InstructionSource
from engine.work.filtering.oracle import correlate, rounding_bound

# Width and height: none is a multiple of a block, edges in every block but one, a row, a column, a pixel.
QUICK_SIZES = ((67, 33), (1, 1), (37, 18), (48, 32))
FULL_SIZES = (*QUICK_SIZES, (1, 40), (53, 1), (2, 2), (31, 31), (33, 65), (64, 64), (16, 5), (7, 29))
QUICK_MASKS = ((5, 3), (3, 3), (9, 7), (3, 5))
FULL_MASKS = (*QUICK_MASKS, (1, 1), (1, 9), (9, 1), (5, 5), (7, 7), (9, 9))
# Rounded or cut to a whole number, a byte lies less than this from the exact value.
BYTE_STEP = 1.0
# A launch that takes longer has no end, or is none for a person who waits.
MOST_S = 10.0


@dataclass(frozen=True)
class Trial:
    """One launch to make."""

    width: int
    height: int
    mask_width: int
    mask_height: int
    channels: int
    seed: int

    @property
    def values(self) -> int:
        """How many numbers the picture has."""
        return self.height * self.width * self.channels

    def __str__(self) -> str:
        channels = f" with {self.channels} channels" if self.channels > 1 else ""
        return f"{self.width} × {self.height}{channels}, mask {self.mask_width} × {self.mask_height}"


@dataclass(frozen=True, eq=False)
class LaunchOutcome:
    """What came of a launch: which values are wrong, and the interpreter's findings."""

    trial: Trial
    run: InterpretedRun
    arguments: list[object]  # that the kernel was launched with
    out: Array
    wanted: NDArray[np.float64]
    wrong: NDArray[np.bool_]


def trials(kernel: JudgedKernel, *, full: bool, seed: int) -> list[Trial]:
    """Return the launches of a quick or a full judgement."""
    sizes = FULL_SIZES if full else QUICK_SIZES
    masks: tuple[tuple[int, int], ...] = FULL_MASKS if full else QUICK_MASKS
    if kernel.header.mask is not None or "mask" not in kernel.parameters:
        masks = (kernel.header.mask or (3, 3),)
    channels = (1, 3) if "channels" in kernel.parameters else (1,)
    return [
        Trial(width, height, *masks[number % len(masks)], channels[number % len(channels)], seed + number)
        for number, (width, height) in enumerate(sizes)
    ]


def outcome_of(
    kernel: JudgedKernel, trial: Trial, checkpoint: Checkpoint, *, counted: bool = True
) -> LaunchOutcome:
    """Launch a kernel once and compare its result; raises PtxError for what is not interpreted."""
    random = np.random.default_rng(trial.seed)
    shape = (trial.height, trial.width, trial.channels)
    image = random.integers(0, 256, shape).astype(kernel.header.dtype)
    if kernel.header.dtype == "float32":
        image = (random.random(shape) * 255).astype(np.float32)
    mask = _mask(trial, random, positive=kernel.header.result_dtype == "uint8")
    is_constant = kernel.header.border is Border.CONSTANT
    border_value = float(np.float32(random.uniform(1, 99))) if is_constant else 0.0
    # NaN, and of bytes any: unlike what is right, so that nothing unwritten seems right.
    unwritten = np.nan if kernel.header.result_dtype == "float32" else 0xA5
    out = Array("out", np.full(shape, unwritten, kernel.header.result_dtype), True)
    # Copies: a kernel may write to them, and what is right stays that of the trial's picture and mask.
    by_name = vars(trial) | {"out": out, "border_value": border_value}
    by_name |= {"image": Array("image", image.copy()), "mask": Array("mask", mask.weights32.copy())}
    arguments: list[object] = []
    for argument in (by_name[name] for name in kernel.parameters):
        if kernel.is_numba and isinstance(argument, Array):
            values = argument.values
            arguments += array_parameters(argument, values[..., 0] if values.ndim == 3 else values)
        else:
            arguments.append(argument)
    across, down = kernel.header.block_results
    result = run(
        kernel.ptx,
        None if kernel.is_numba else kernel.name,
        (-(-trial.width // across), -(-trial.height // down)),
        kernel.header.block,
        arguments,
        dynamic_shared=kernel.header.shared,
        counted=counted,
        checkpoint=checkpoint,
    )
    wanted = correlate(image, mask, kernel.header.border, border_value)
    magnitudes = correlate(image, mask, kernel.header.border, border_value, absolute=True)
    bound = rounding_bound(magnitudes, mask.weights32.size)
    if kernel.header.result_dtype == "uint8":
        wanted, bound = np.clip(wanted, 0, 255), bound + BYTE_STEP
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(out.values.astype(np.float64) - wanted) <= bound)
    return LaunchOutcome(trial, result, arguments, out, wanted, wrong)


def _mask(trial: Trial, random: np.random.Generator, *, positive: bool) -> Mask:
    # No two cells are alike.
    cells = trial.mask_width * trial.mask_height
    weights = (random.permutation(cells) + 1.0) / cells * np.where(random.random(cells) < 0.3, -1, 1)
    if positive:
        # Sums of bytes that are mostly within a byte, and sometimes above and below.
        weights *= 1.6 / max(abs(weights.sum()), 0.25 * np.abs(weights).sum())
    return Mask(weights.reshape(trial.mask_height, trial.mask_width).astype(np.float32).astype(np.float64))


Flags = NDArray[np.bool_]
# As much of the wrong pixels as a pattern must have, and as much of the pattern as must be wrong.
MOST = 0.9


def pattern_of(wrong: Flags, result: np.ndarray, wanted: np.ndarray, block_results: tuple[int, int]) -> str:
    """Return where wrong pixels of a picture (H, W) lie; `block_results` are those of a block (x, y)."""
    height, width = wrong.shape
    total = int(np.count_nonzero(wrong))
    share = total / wrong.size
    if not result[wrong].any():
        return "the wrong pixels are zero" if share < MOST else "every pixel is zero"
    if (moved := _moved(result, wanted)) is not None:
        return moved
    if share > MOST:
        return "nearly every pixel is wrong"
    around = [
        (words, int(np.count_nonzero(np.broadcast_to(place, wrong.shape))))
        for words, place in _places(height, width, *block_results)
        if not (wrong & ~place).any()
    ]
    if filled := [words for words, size in around if total >= MOST * max(size, 1)]:
        return filled[0]
    return f"some pixels of {around[0][0]}" if around else f"{total:,} of {wrong.size:,} pixels"


def _places(height: int, width: int, across: int, down: int) -> Iterator[tuple[str, Flags]]:
    """Yield where wrong pixels often lie: edges, the rim, the sides of blocks, blocks at an end."""
    rows, columns = np.ogrid[:height, :width]
    depths = ((1, "", ""), *((depth, f"{depth} ", "s") for depth in range(2, 5)))
    for depth, few, many in depths:
        yield f"the right edge, {few}column{many} wide", columns >= width - depth
        yield f"the left edge, {few}column{many} wide", columns < depth
        yield f"the bottom edge, {few}row{many} high", rows >= height - depth
        yield f"the top edge, {few}row{many} high", rows < depth
    for depth, _, _ in depths:
        rim = (columns < depth) | (columns >= width - depth) | (rows < depth) | (rows >= height - depth)
        yield f"the rim of the picture, {depth} wide", rim
    for depth, few, many in depths:
        for unit, at, of_block in (("column", columns, across), ("row", rows, down)):
            first = (at % of_block < depth) & (at >= of_block)
            yield f"the first {few}{unit}{many} of each block but the first", first
            yield f"the last {few}{unit}{many} of each block", at % of_block >= of_block - depth
    last_block = (columns >= width // across * across) | (rows >= height // down * down)
    yield "the last blocks, which the picture does not fill", last_block
    yield "every block but the first", (columns >= across) | (rows >= down)


def _moved(result: np.ndarray, wanted: np.ndarray) -> str | None:
    """Return how far the whole result lies beside the right one; None where that is not what is wrong."""
    height, width = wanted.shape
    if min(height, width) < 8:
        return None
    own = result[3:-3, 3:-3]

    def is_like(other: np.ndarray) -> bool:
        return np.allclose(own, other, rtol=1e-4, atol=1e-2, equal_nan=False)

    for down, right in product(range(-3, 4), repeat=2):
        inner = wanted[3 - down : height - 3 - down, 3 - right : width - 3 - right]
        if (down or right) and is_like(inner):
            ways = (right, "column", "right", "left"), (down, "row", "down", "up")
            shifts = [
                f"{abs(steps)} {unit}{'s' * (abs(steps) > 1)} too far {ahead if steps > 0 else back}"
                for steps, unit, ahead, back in ways
                if steps
            ]
            return f"the whole result lies {' and '.join(shifts)}"
    if height == width and is_like(wanted.T[3:-3, 3:-3]):
        return "rows and columns of the result are swapped"
    return None


# It loads Numba, which CUDA C is judged without.
_WITH_NUMBA = "engine.judging.numba_kernel_code"
_NAIVE = """extern "C" __global__ void naive(const float* image, const float* mask, float* out,
                                 int width, int height, int mask_width, int mask_height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int i = 0; i < mask_height; i++)
        for (int j = 0; j < mask_width; j++) {
            int row = y + i - mask_height / 2, column = x + j - mask_width / 2;
            if (row >= 0 && row < height && column >= 0 && column < width)
                sum += mask[i * mask_width + j] * image[row * width + column];
        }
    out[y * width + x] = sum;
}
"""


def judge(
    what: object,
    *,
    full: bool = False,
    function: str | None = None,
    require: Sequence[str] = (),
    seed: int | None = None,
    checkpoint: Checkpoint = lambda done: None,
) -> Judgement:
    """Judge a kernel of CUDA C or Numba without a GPU.

    Parameters
    ----------
    what : path or function
        A file `.cu` or `.py`, or a function of `numba.cuda.jit`.
    full : bool
        Try all sizes and masks, not only four launches.
    function : str, optional
        The kernel's name where a file has several.
    require : sequence of str
        Properties such as "sectors per request <= 4.5".
    seed : int, optional
        Of the random pictures and masks; None: fresh ones.
    checkpoint : callable
        Called again and again with the share that is done; what it raises ends the judgement.

    Raises
    ------
    BadValue, UnknownName
        For a requirement that is none.
    """
    gates, fresh = [gate_of(text) for text in require], int.from_bytes(os.urandom(4), "little")
    try:
        kernel = _kernel(what, function, checkpoint)
        return _judged(kernel, gates, full, fresh if seed is None else seed, checkpoint)
    except Cancelled:
        raise
    except EngineError as error:
        finding = Finding("refused", (InstructionSource("", getattr(error, "line", 0)),), str(error))
        return Judgement("", Verdict.REFUSED, (finding,))


def _kernel(what: object, function: str | None, checkpoint: Checkpoint) -> JudgedKernel:
    if missing:
        raise NotJudged("a kernel cannot be compiled here", missing, INSTALL)
    if not isinstance(what, str | Path):
        kernel: JudgedKernel = import_module(_WITH_NUMBA).judged_function(what)
        return kernel
    path = Path(what)
    text = read_text(path, cuda_c.MOST_BYTES, f"the kernel {path.name}")
    if path.suffix.lower() == ".py":
        numba_kernel: JudgedKernel = import_module(_WITH_NUMBA).judged_file(text, str(path), function)
        return numba_kernel
    if path.suffix.lower() not in (".cu", ".cuh", ".cuda"):
        raise NotJudged(f"the file {path.name}", "a kernel is a file .cu (CUDA C) or .py (Numba)")
    return cuda_c.judged_cuda_c(text, header_of(text), function, checkpoint)


def _judged(
    kernel: JudgedKernel, gates: Sequence[Callable[..., Gate]], full: bool, seed: int, checkpoint: Checkpoint
) -> Judgement:
    launches = trials(kernel, full=full, seed=seed)
    findings: dict[tuple[str, tuple[int, ...]], Finding] = {}
    # The requests to memory of the largest are reported. To count them takes a fifth of the time of a launch.
    at_largest = max(range(len(launches)), key=lambda number: launches[number].values)
    largest: LaunchOutcome | None = None
    wrong: np.ndarray | None = None
    for number, trial in enumerate(launches):
        within = _within_time(checkpoint, number / len(launches), len(launches))
        outcome = outcome_of(kernel, trial, within, counted=number == at_largest)
        for finding in outcome.run.findings:
            who = f" (thread {finding.thread} of block {finding.block})"
            one = replace(finding, message=finding.message + who)
            findings.setdefault((one.kind, one.numbers), one)
        if outcome.wrong.any():
            wrong = np.any(outcome.wrong, axis=2) if wrong is None else wrong
            one = _wrong(kernel, outcome)
            findings.setdefault((one.kind, one.numbers), one)
        if number == at_largest:
            largest = outcome
    assert largest is not None
    device, unlike = import_module(_WITH_NUMBA).on_device(kernel, largest) if full else ("", None)
    if unlike is not None:
        findings["device", ()] = unlike
    verdict = Verdict.FAULTY if findings else Verdict.RIGHT
    if wrong is not None or unlike is not None:
        verdict = Verdict.WRONG
    metrics = metrics_of(kernel, largest.run, largest.wrong.size)
    naive = {}
    if gates:
        # With a thread per result and no memory but global, in the same launch.
        across, down, deep = kernel.header.block
        header = Header(block=(across, down * deep, 1), border=kernel.header.border)
        plain = cuda_c.judged_cuda_c(_NAIVE, header)
        outcome = outcome_of(plain, replace(largest.trial, channels=1), lambda done: None)
        naive = metrics_of(plain, outcome.run, outcome.wrong.size)
    return Judgement(
        kernel.name,
        verdict,
        tuple(findings.values()),
        tuple(map(str, launches)),
        metrics,
        lines_of(largest.run),
        tuple(gate(metrics, naive) for gate in gates),
        device,
        wrong,
    )


def _within_time(checkpoint: Checkpoint, begun: float, count: int) -> Checkpoint:
    end = time.monotonic() + MOST_S

    def check(done: float) -> None:
        if time.monotonic() > end:
            raise NotJudged("the launch", f"it takes longer than {MOST_S:.0f} s: does a loop have an end?")
        checkpoint(begun + done / count)

    return check


def _wrong(kernel: JudgedKernel, outcome: LaunchOutcome) -> Finding:
    """Return what is wrong with the result: the first wrong pixel, who owns it, and where the others lie."""
    row, column, channel = map(int, np.argwhere(outcome.wrong)[0])
    value, wanted = outcome.out.values[row, column, channel], outcome.wanted[row, column, channel]
    where = f"row {row}, column {column}" + (f", channel {channel}" if outcome.trial.channels > 1 else "")
    flat = int(np.ravel_multi_index((row, column, channel), outcome.wrong.shape))
    writer = outcome.run.machine.writer_of(outcome.out, flat)
    kind, lines = "unwritten", tuple[InstructionSource, ...]()
    if writer is None:
        message = f"the pixel at {where} is never written"
    else:
        thread, block, instruction = writer
        kind, lines = "wrong", (instruction.line,)
        whose = f"thread {thread} of block {block} wrote it"
        message = f"the pixel at {where} is {float(value):.6g} and not {float(wanted):.6g}; {whose}"
    values, right = outcome.out.values[..., channel].astype(np.float64), outcome.wanted[..., channel]
    pattern = pattern_of(outcome.wrong[..., channel], values, right, kernel.header.block_results)
    return Finding(kind, lines, f"{message}. Wrong are: {pattern} ({outcome.trial})")
