"""Columns of the tasks that compute pictures from pictures."""

from engine.results.columns import Fact
from engine.results.compare import ComparedRun
from engine.results.problem import TaskProblem
from engine.results.quantities import MISSING
from engine.work.picture_problem import PictureProblem


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
BLOCK: Fact[TaskProblem] = Fact(
    "block", "Block", "Threads of a CUDA block, width × height. Kernels on the CPU have none.",
    lambda run: str(run.result.block or MISSING), threads)
LAYOUT: Fact[TaskProblem] = Fact(
    "layout", "Rows",
    "How the rows of the picture lay in the GPU's memory: pitched, each from a 128-byte boundary on, "
    "or packed, each right after the one before. On the CPU they are always packed.",
    lambda run: run.result.layout or MISSING, caption="{} rows")
# fmt: on
