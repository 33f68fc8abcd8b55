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
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.match_grid import LINES, OPERATIONS_PER_CELL, POSITIONS, cells_of
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

FUNCTION = MachineFunction("engine.variants.operations.match_code", "scores", error_model="numpy")


def _planes(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(image, 2, 0), np.float32)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each position reads its window twice and the patch once, mostly from a cache."""
    cells = cells_of(problem)
    return operation_work(
        problem,
        picture_loads=2 * problem.values * cells,
        other_loads=problem.values * cells,
        flops=OPERATIONS_PER_CELL * problem.values * cells,
    )


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the loops, compiled."""
    assert constant is not None
    weights = np.ascontiguousarray(np.moveaxis(constant.weights, 2, 0))
    rows, columns, _ = problem.result_shape
    return Bands(
        problem,
        FUNCTION,
        columns * weights.size,
        lambda workers: (weights, np.zeros((workers * LINES, POSITIONS), np.float32)),
        rows=rows,
        source_of=_planes,
        target_of=lambda out: out[..., 0],
    )


VARIANT = cpu_variant(
    prepare,
    key="cpu-match",
    title="CPU, all cores",
    operation="find-patch",
    idea="256 neighbouring positions at once in vectors: the mean of each window, then the sums over it.",
    work=work,
)
