"""`cpu-maximum`: the highest of each column along whole rows, then of neighbouring columns, on all cores.

Idea
    For each row, the highest of the rows around it is kept for every column; then neighbours are compared,
    again and again. Both loops have no branch, so the compiler makes vectors of them.
What it saves
    2 (size - 1) comparisons for a sample instead of size squared less one.
"""

from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.extremes import bands_of, cpu_work
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands, compiled."""
    return bands_of(problem, highest=True)


VARIANT = cpu_variant(
    prepare,
    key="cpu-maximum",
    title="CPU, all cores",
    operation="maximum",
    idea="The highest of each column along whole rows, then of neighbours, in vectors, on all cores.",
    work=cpu_work,
)
