"""What the ways to find a patch share: positions, cells, the arguments of a kernel."""

from typing import Any

import numpy as np

from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem

# Each sample of a window takes a subtraction and an addition for the mean, then two subtractions, two
# products and two additions.
OPERATIONS_PER_CELL = 8
# Positions of a row that `cpu-match` takes at once, and the lines of as many floats that it has for them:
# first cell, mean, sums above and below the root, and their partial sums.
POSITIONS, LINES = 256, 6


def cells_of(problem: OperationProblem) -> int:
    """Return the samples of a window, of all channels."""
    return problem.whole("height") * problem.whole("width") * problem.channels


def positions(problem: OperationProblem) -> tuple[int, int, int]:
    """Return rows, columns and layers of a thread per position."""
    rows, columns, _ = problem.result_shape
    return rows, columns, 1


def match_arguments(problem: OperationProblem, patch: Patch | None) -> tuple[Any, ...]:
    """Return the patch, the width, and the positions across."""
    assert patch is not None
    return np.ascontiguousarray(patch.weights), problem.width, problem.result_shape[1]
