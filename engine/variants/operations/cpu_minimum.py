"""`cpu-minimum`: the lowest of each column along whole rows, then of neighbouring columns, on all cores.

Idea
    For each row, the lowest of the rows around it is kept for every column; then neighbours are compared,
    again and again. Both loops have no branch, so the compiler makes vectors of them.
What it saves
    2 (size - 1) comparisons for a sample instead of size squared less one.
"""

from engine.geometry.block import Block
from engine.results.work import Work
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.operation.work import operation_work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.extremes import bands_of


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is loaded once for each row of the window, the rest is in a cache."""
    size = problem.whole("size")
    return operation_work(
        problem, picture_loads=size * problem.samples, flops=2 * (size - 1) * problem.samples
    )


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands, compiled."""
    return bands_of(problem, highest=False)


VARIANT = cpu_variant(
    prepare,
    key="cpu-minimum",
    title="CPU, all cores",
    operation="minimum",
    idea="The lowest of each column along whole rows, then of neighbours, in vectors, on all cores.",
    work=work,
)
