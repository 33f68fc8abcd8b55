"""`cpu-histogram`: a partial histogram for each core, added up in the end.

Idea
    A core counts the samples of its rows into bins that no other core touches, so nobody waits; the last step
    adds up as many histograms as there are cores. `histogram-shared` does the same with blocks.
Limit
    Two equal samples in a row write the same bin: the second has to wait for the first one's store.
"""

from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import cpu_variant
from engine.variants.operations.histogram_counts import PartialHistograms
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is read and counted once, and each count is written once.

    The cores' own counts stay in their caches.
    """
    return operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


def prepare(problem: OperationProblem, constant: Patch | None) -> PartialHistograms:
    """Return the counts, compiled."""
    return PartialHistograms(problem)


VARIANT = cpu_variant(
    prepare,
    key="cpu-histogram",
    title="CPU, all cores",
    operation="histogram",
    idea="Each core counts its rows into bins of its own, which are added up in the end.",
    work=work,
)
