"""Judges a kernel: compiles it, launches it in the interpreter, compares, counts, and says what is wrong.

Called on: any thread; one judgement at a time uses one core.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from engine.device.device_list import INSTALL, missing
from engine.errors import Cancelled, EngineError
from engine.files.reading import read_text
from engine.judging import cuda_c
from engine.judging.judgement import Gate, Judgement, Verdict, gate_of, lines_of, metrics_of
from engine.judging.source import Header, JudgedKernel, NotJudged, header_of
from engine.judging.trials import MOST_S, Outcome, Trial, outcome_of, pattern_of, trials
from engine.ptx import Finding
from engine.ptx.module import SourceLine

Checkpoint = Callable[[float], None]
# Both load Numba, which CUDA C is judged without.
_NUMBA_KERNELS, _ON_DEVICE = "engine.judging.numba_kernel_code", "engine.judging.on_device"
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
    gates = [gate_of(text) for text in require]
    try:
        kernel = _kernel(what, function, checkpoint)
        if seed is None:
            seed = int.from_bytes(os.urandom(4), "little")
        return _judged(kernel, gates, full=full, seed=seed, checkpoint=checkpoint)
    except Cancelled:
        raise
    except EngineError as error:
        finding = Finding("refused", (SourceLine("", getattr(error, "line", 0)),), str(error))
        return Judgement("", Verdict.REFUSED, (finding,))


def _kernel(what: object, function: str | None, checkpoint: Checkpoint) -> JudgedKernel:
    if missing:
        raise NotJudged("a kernel cannot be compiled here", missing, INSTALL)
    if not isinstance(what, str | Path):
        kernel: JudgedKernel = import_module(_NUMBA_KERNELS).judged_function(what)
        return kernel
    path = Path(what)
    text = read_text(path, cuda_c.MOST_BYTES, f"the kernel {path.name}")
    if path.suffix.lower() == ".py":
        found: JudgedKernel = import_module(_NUMBA_KERNELS).judged_file(text, str(path), function)
        return found
    if path.suffix.lower() not in (".cu", ".cuh", ".cuda"):
        raise NotJudged(f"the file {path.name}", "a kernel is a file .cu (CUDA C) or .py (Numba)")
    return cuda_c.judged_cuda_c(text, header_of(text), function, checkpoint)


def _judged(
    kernel: JudgedKernel,
    gates: Sequence[Callable[..., Gate]],
    *,
    full: bool,
    seed: int,
    checkpoint: Checkpoint,
) -> Judgement:
    asked = trials(kernel, full=full, seed=seed)
    findings: dict[tuple[str, tuple[int, ...]], Finding] = {}
    largest: Outcome | None = None
    wrong: np.ndarray | None = None
    for number, trial in enumerate(asked):
        outcome = outcome_of(kernel, trial, _within_time(checkpoint, number / len(asked), len(asked)))
        for finding in outcome.run.findings:
            who = f" (thread {finding.thread} of block {finding.block})"
            one = replace(finding, message=finding.message + who)
            findings.setdefault((one.kind, one.numbers), one)
        if outcome.wrong.any():
            wrong = np.any(outcome.wrong, axis=2) if wrong is None else wrong
            one = _wrong(kernel, outcome)
            findings.setdefault((one.kind, one.numbers), one)
        if largest is None or outcome.wrong.size > largest.wrong.size:
            largest = outcome
    assert largest is not None
    device, unlike = import_module(_ON_DEVICE).on_device(kernel, largest) if full else ("", None)
    if unlike is not None:
        findings["device", ()] = unlike
    is_wrong = wrong is not None or unlike is not None
    verdict = Verdict.WRONG if is_wrong else Verdict.FAULTY if findings else Verdict.RIGHT
    metrics = metrics_of(kernel, largest.run, largest.wrong.size)
    naive = _naive_metrics(kernel, largest.trial) if gates else {}
    return Judgement(
        kernel.name,
        verdict,
        tuple(findings.values()),
        tuple(map(str, asked)),
        metrics,
        lines_of(largest.run),
        tuple(gate(metrics, naive) for gate in gates),
        device,
        wrong,
    )


def _within_time(checkpoint: Checkpoint, begun: float, count: int) -> Checkpoint:
    """Return a checkpoint that ends a launch that takes too long."""
    end = time.monotonic() + MOST_S

    def check(done: float) -> None:
        if time.monotonic() > end:
            raise NotJudged("the launch", f"it takes longer than {MOST_S:.0f} s: does a loop have an end?")
        checkpoint(begun + done / count)

    return check


def _naive_metrics(kernel: JudgedKernel, trial: Trial) -> dict[str, float]:
    """Return what a kernel with a thread per result and no memory but global has in the same launch."""
    header = Header(block=kernel.header.block, border=kernel.header.border)
    naive = cuda_c.judged_cuda_c(_NAIVE, header)
    grey = Trial(trial.width, trial.height, trial.mask_width, trial.mask_height, 1, trial.seed)
    outcome = outcome_of(naive, grey, lambda done: None)
    return metrics_of(naive, outcome.run, outcome.wrong.size)


def _wrong(kernel: JudgedKernel, outcome: Outcome) -> Finding:
    """Return what is wrong with the result: the first wrong pixel, who owns it, and where the others lie."""
    row, column, channel = map(int, np.argwhere(outcome.wrong)[0])
    found, wanted = outcome.out.values[row, column, channel], outcome.wanted[row, column, channel]
    where = f"row {row}, column {column}" + (f", channel {channel}" if outcome.trial.channels > 1 else "")
    flat = int(np.ravel_multi_index((row, column, channel), outcome.wrong.shape))
    writer = outcome.run.machine.writer_of(outcome.out, flat)
    kind, lines = "unwritten", tuple[SourceLine, ...]()
    if writer is None:
        said = f"the pixel at {where} is never written"
    else:
        thread, block, instruction = writer
        kind, lines = "wrong", (instruction.line,)
        whose = f"thread {thread} of block {block} wrote it"
        said = f"the pixel at {where} is {float(found):.6g} and not {float(wanted):.6g}; {whose}"
    pattern = pattern_of(
        outcome.wrong[..., channel],
        outcome.out.values[..., channel].astype(np.float64),
        outcome.wanted[..., channel],
        kernel.header.block_results,
    )
    return Finding(kind, lines, f"{said}. Wrong are: {pattern} ({outcome.trial})")
