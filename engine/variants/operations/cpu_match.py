"""`cpu-match`: normalised cross-correlation in vectors of neighbouring positions, on all cores.

Idea
    A core takes 256 positions of a row at once: the mean of each one's window first, then what the patch and
    the window less its mean add up to. All inner loops run along the positions, in vectors.
Limit
    Twice as many multiply-adds as the patch has samples, for each position. A transform would take fewer for
    large patches.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.results.work import Work
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.operation.work import operation_work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.match_grid import LINES, OPERATIONS_PER_CELL, POSITIONS, cells_of

FUNCTION = MachineFunction("engine.variants.operations.match_code", "scores", error_model="numpy")


class Matching:
    """The loops, ready for one problem and patch."""

    def __init__(self, problem: OperationProblem, patch: Patch) -> None:
        weights = np.ascontiguousarray(np.moveaxis(patch.weights, 2, 0))
        rows, columns, _ = problem.result_shape
        source, target = np.empty((1, 1, 1), np.float32), np.empty((1, 1), np.float32)
        self._bands = Bands(
            FUNCTION,
            source,
            target,
            rows,
            columns * patch.weights.size,
            lambda workers: (weights, np.zeros((workers * LINES, POSITIONS), np.float32)),
        )

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Compute the scores on all cores; return when it is done."""
        planes = np.ascontiguousarray(np.moveaxis(image, 2, 0), np.float32)
        self._bands.run(planes, out[..., 0])


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each position reads its window twice and the patch once, mostly from a cache."""
    cells = cells_of(problem)
    return operation_work(
        problem,
        picture_loads=2 * problem.values * cells,
        other_loads=problem.values * cells,
        flops=OPERATIONS_PER_CELL * problem.values * cells,
    )


def prepare(problem: OperationProblem, constant: Patch | None) -> Matching:
    """Return the loops, compiled."""
    assert constant is not None
    return Matching(problem, constant)


VARIANT = cpu_variant(
    prepare,
    key="cpu-match",
    title="CPU, all cores",
    operation="find-patch",
    idea="256 neighbouring positions at once in vectors: the mean of each window, then the sums over it.",
    work=work,
)
