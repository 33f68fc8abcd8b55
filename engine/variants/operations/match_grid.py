"""What the ways to find a patch share: positions, cells, the arguments of a kernel."""

import numpy as np

from engine.device.launches import Kernel, Pass
from engine.geometry.block import Block
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.variants.operations.grid import launch_over, pass_of

# Each sample of a window takes an addition for the mean, then a subtraction, two products, two additions.
OPERATIONS_PER_CELL = 6
# Positions of a row that `cpu-match` takes at once, and the lines of as many floats that it has for them:
# mean, lowest, highest, sums above and below the root, and their partial sums.
POSITIONS, LINES = 256, 7


def cells_of(problem: OperationProblem) -> int:
    """Return the samples of a window, of all channels."""
    return problem.whole("height") * problem.whole("width") * problem.channels


def rows_of(problem: OperationProblem) -> int:
    """Return the rows of positions."""
    return problem.result_shape[0]


def match_pass(
    problem: OperationProblem, patch: Patch, block: Block, kernel: Kernel, shared_bytes: int = 0
) -> Pass:
    """Return the pass of a kernel that takes the picture, the patch, width, positions across, and out."""
    rows, columns, _ = problem.result_shape
    launch = launch_over(rows, columns, 1, block, shared_bytes)
    weights = np.ascontiguousarray(patch.weights)
    return pass_of(problem, kernel, launch, weights, problem.width, columns)
