"""What tables and files tell of a run on a picture, beside what they tell of every run; the best blocks."""

import math
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from engine.geometry.block import Block
from engine.mask.mask import names_size
from engine.results.columns import AnyFact, Fact
from engine.results.measurement import Measurement
from engine.results.metrics import AnyMetric, ComparedRun, comparable
from engine.results.problem import TaskProblem
from engine.results.text_forms import MISSING, ms_text, ratio_text
from engine.work.problem import ChainProblem, OperationProblem, PictureProblem, Problem

if TYPE_CHECKING:
    RunResult = Measurement[Problem]
else:
    # Scripts ask `isinstance(result, ...)`; a class with its parameter cannot answer.
    RunResult = Measurement
"""The result of a run of a filter."""


def mask_text(result: Measurement[Problem]) -> str:
    """Return name and size of a mask, the size once; of one without a name of its own the size alone."""
    rows, columns = result.problem.mask_shape
    size, name = f"{rows} × {columns}", result.mask_name
    if name in ("", f"random {size}"):
        return size
    return name if names_size(name, rows, columns) else f"{name}, {size}"


def threads(run: ComparedRun[TaskProblem]) -> float | None:
    """Return the threads of a run's block, if it has one."""
    return float(run.result.block.threads) if run.result.block else None


# fmt: off
PICTURE: Fact[PictureProblem] = Fact(
    "picture", "Picture, px",
    "Width × height, colours and sample type; that of the results where it is not float32. Sorted by "
    "the number of samples.",
    lambda run: run.result.problem.picture_text, lambda run: run.result.problem.samples,
    caption="{}", of_problem=True)
MASK: Fact[Problem] = Fact(
    "mask", "Mask", "Name and rows × columns of the mask. Sorted by the number of cells.",
    lambda run: mask_text(run.result), lambda run: run.result.problem.taps,
    caption="mask {}", of_problem=True)
BORDER: Fact[Problem] = Fact(
    "border", "Border", "The rule for cells outside the picture.",
    lambda run: str(run.result.problem.border), caption="border {}", of_problem=True)
OPERATION: Fact[OperationProblem] = Fact(
    "operation", "Operation", "The operation with its parameters.",
    lambda run: run.result.problem.operation_text, caption="{}", of_problem=True)
CHAIN: Fact[ChainProblem] = Fact(
    "chain", "Chain", "The chain by its title. Sorted by its steps.",
    lambda run: run.result.problem.chain, lambda run: len(run.result.problem.steps.split("; ")),
    caption="{}", of_problem=True)
STEPS: Fact[ChainProblem] = Fact(
    "steps", "Steps", "What each step does, and what it reads.",
    lambda run: run.result.problem.steps, of_problem=True, shown=False)
STEP_TIMES: Fact[ChainProblem] = Fact(
    "step_times", "Step times", "What each step takes by itself.",
    lambda run: run.result.steps_text or MISSING, shown=False)
BLOCK: Fact[TaskProblem] = Fact(
    "block", "Block", "Threads of a CUDA block, width × height. Kernels on the CPU have none.",
    lambda run: str(run.result.block or MISSING), threads)
LAYOUT: Fact[TaskProblem] = Fact(
    "layout", "Rows",
    "How the rows of the picture lay in the GPU's memory: pitched, each from a 128-byte boundary on, "
    "or packed, each right after the one before. On the CPU they are always packed.",
    lambda run: run.result.layout or MISSING, caption="{} rows")
# fmt: on
METRICS: dict[str, tuple[AnyMetric, ...]] = {}
FACTS: dict[str, tuple[AnyFact, ...]] = {
    Problem.task: (PICTURE, MASK, BORDER, BLOCK, LAYOUT),
    OperationProblem.task: (PICTURE, OPERATION, BLOCK, LAYOUT),
    ChainProblem.task: (PICTURE, CHAIN, STEPS, STEP_TIMES),
}


def same_kernel(result: RunResult) -> Hashable:
    """Return what runs share that differ in nothing but their blocks."""
    return comparable(result), result.variant, result.layout, result.environment.device


def fastest_blocks(results: Iterable[RunResult]) -> list[RunResult]:
    """Return the fastest run of each kernel, problem and layout of which several blocks have a speed."""
    groups: dict[Hashable, dict[Block, RunResult]] = {}
    for result in results:
        if result.block is not None and result.kernel_ms:
            group = groups.setdefault(same_kernel(result), {})
            before = group.get(result.block)
            if before is None or result.kernel_ms < (before.kernel_ms or math.inf):
                group[result.block] = result
    several = (group.values() for group in groups.values() if len(group) > 1)
    return [min(runs, key=lambda run: run.kernel_ms or math.inf) for runs in several]


def found_words(result: RunResult, results: Iterable[RunResult], default: Block) -> str:
    """Return the best block of a kernel in words, and its gain over the default block if that has a time."""
    assert result.kernel_ms is not None
    words = f"{result.block} ({ms_text(result.kernel_ms)})"
    if result.block == default:
        return f"{words}, which is its default"
    same = (one for one in results if one.block == default and same_kernel(one) == same_kernel(result))
    times = [one.kernel_ms for one in same if one.kernel_ms]
    gain = f", {ratio_text(min(times) / result.kernel_ms)} as fast as its default {default}" if times else ""
    return words + gain
