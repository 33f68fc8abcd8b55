"""Median: each sample becomes the middle one of its neighbourhood; single wrong samples vanish."""

import numpy as np

from engine.geometry.border import Border
from engine.work.operations.cells import Floats, OfCells, rising
from engine.work.operations.contract import Operation, Parameter, ResultKind
from engine.work.operations.problem import OperationProblem, Value

BORDER = Border.REPLICATE
SIZES = (3, 5)


def _half_side(parameters: dict[str, Value]) -> int:
    return int(parameters["size"]) // 2


def _middle(cells: Floats, problem: OperationProblem) -> Floats:
    """Return the middle of each sorted window; a window with NaN has the result NaN."""
    size = problem.whole("size")
    ordered = np.sort(cells.reshape(*cells.shape[:3], size * size), axis=3)
    middle: Floats = ordered[..., size * size // 2].copy()
    # NumPy sorts NaN to the end.
    middle[np.isnan(ordered[..., -1])] = np.nan
    return middle


MEDIAN = Operation(
    key="median",
    title="Noise reduction (median)",
    teaches="The middle of 9 or 25 samples removes salt and pepper and keeps edges; a block's shared tile "
    "serves each sample to 9 or 25 threads, and a sorting network needs no branches.",
    result=ResultKind.PICTURE,
    window=_half_side,
    parameters=(
        Parameter(
            name="size",
            title="Size",
            explanation="Side of the square neighbourhood, 3 or 5. Cells outside the picture repeat the "
            "nearest one.",
            default=3,
            choices=SIZES,
        ),
    ),
    of_cells=OfCells(rising(_middle), scales=True, exact=True),
    cost=100,
    proof="The middle one is one of the samples: it must be equal.",
)
