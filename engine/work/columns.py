"""What tables and files tell of a run on a picture, beside what they tell of every run."""

from engine.mask.mask import names_size
from engine.results.columns import AnyFact, Fact
from engine.results.measurement import Measurement
from engine.results.metrics import AnyMetric, ComparedRun
from engine.results.problem import TaskProblem
from engine.results.text_forms import MISSING
from engine.work.filtering.problem import Problem
from engine.work.operations.problem import OperationProblem
from engine.work.picture_problem import ChainProblem, PictureProblem


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
