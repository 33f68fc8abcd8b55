"""`cpu-median`: a sorting network along whole rows, on all cores.

Idea
    For each row, the 3 or 5 rows around it are copied to lines with their ends repeated. The lines are sorted
    against one another, column by column; then the network of `median_network.py` runs across neighbouring
    columns. Both loops have no branch, so the compiler makes vectors of them.
What it saves
    Each sorted column serves 3 or 5 results; no window is ever sorted by itself.
Limit
    25 samples cost some 60 comparisons twice: arithmetic, not memory.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

_CODE = "engine.variants.operations.median_code"
_FUNCTIONS = {
    3: MachineFunction(_CODE, "median_of_9", error_model="numpy"),
    5: MachineFunction(_CODE, "median_of_25", error_model="numpy"),
}
# Comparisons (a minimum and a maximum each) of a column and of a row of columns.
COMPARISONS = {3: 10, 5: 75}


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is loaded once for each row of the window, the rest is in a cache."""
    size = problem.whole("size")
    return operation_work(
        problem, picture_loads=size * problem.samples, flops=COMPARISONS[size] * problem.samples
    )


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands with a few lines for each worker, compiled."""
    size = problem.whole("size")
    length = (problem.width + size - 1) * problem.channels

    def arguments(workers: int) -> tuple[object, ...]:
        return problem.channels, np.zeros((workers * size, length), np.float32), problem.is_float

    steps = COMPARISONS[size] * problem.width * problem.channels // 4
    return Bands(problem, _FUNCTIONS[size], steps, arguments)


VARIANT = cpu_variant(
    prepare,
    key="cpu-median",
    title="CPU, all cores",
    operation="median",
    idea="Columns sorted along whole rows, then a network across them, in vectors, on all cores.",
    work=work,
)
