"""`cpu-minimum`: the lowest of each column along whole rows, then of neighbouring columns, on all cores.

Idea
    For each row, the lowest of the rows around it is kept for every column; then neighbours are compared,
    again and again. Both loops have no branch, so the compiler makes vectors of them.
What it saves
    2 (size - 1) comparisons for a sample instead of size squared less one.
"""

from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.extremes import bands_of, cpu_work


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands, compiled."""
    return bands_of(problem, highest=False)


VARIANT = cpu_variant(
    prepare,
    key="cpu-minimum",
    title="CPU, all cores",
    operation="minimum",
    idea="The lowest of each column along whole rows, then of neighbours, in vectors, on all cores.",
    work=cpu_work,
)
