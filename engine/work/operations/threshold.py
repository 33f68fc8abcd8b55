"""Threshold: white where a sample is above a level, black elsewhere."""

import numpy as np

from engine.work.operations.cells import Floats, OfCells, rising
from engine.work.operations.contract import (
    Operation,
    Parameter,
    ResultKind,
    pixel_alone,
)
from engine.work.operations.problem import OperationProblem


def level_of(problem: OperationProblem) -> np.float32:
    """Return the level in the scale of the samples, float32, as the kernels get it."""
    return np.float32(float(problem.parameters["level"]) * problem.full_scale)


def found(cells: Floats, problem: OperationProblem) -> Floats:
    """Return white or black; NaN is above no level."""
    white: Floats = np.where(cells[..., 0, 0] > float(level_of(problem)), problem.full_scale, 0.0)
    return white


OF_CELLS = OfCells(rising(found), jumps=True)

THRESHOLD = Operation(
    key="threshold",
    title="Threshold",
    teaches="A comparison for each sample and no branch: white above a level, black elsewhere.",
    result=ResultKind.PICTURE,
    window=pixel_alone,
    parameters=(
        Parameter(
            name="level",
            title="Level",
            explanation="From 0, black, to 1, white. A sample above it becomes white, all others black.",
            default=0.5,
            least=0.0,
            most=1.0,
        ),
    ),
    of_cells=OF_CELLS,
    proof="Black or white: equal.",
)
