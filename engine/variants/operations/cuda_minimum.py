"""`cuda-minimum`: a thread per sample compares all cells of its window.

Who loads what
    Each thread loads size squared cells; neighbours ask for nearly the same, which the caches serve.
Limit
    Loads: no thread uses what its neighbour has found.
"""

from engine.device.launches import Operand
from engine.geometry.block import Block
from engine.results.work import Work
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.operation.work import operation_work
from engine.variants.operations.extremes import extreme_kernel
from engine.variants.operations.grid import Step, cuda_variant


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: the sample itself, its window, and a comparison for each cell."""
    cells = problem.samples * problem.whole("size") ** 2
    return operation_work(problem, picture_loads=problem.samples + cells, flops=cells)


VARIANT = cuda_variant(
    Step(
        lambda problem, block: extreme_kernel(problem.whole("size"), False),
        arguments=lambda problem, patch: (Operand.IMAGE, problem.width),
    ),
    work=work,
    key="cuda-minimum",
    title="Thread per sample",
    operation="minimum",
    idea="A thread per sample compares the cells of its window one after another.",
)
