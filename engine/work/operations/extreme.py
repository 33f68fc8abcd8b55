"""Minimum and maximum: each sample becomes the lowest, or the highest, of its neighbourhood."""

from collections.abc import Callable

import numpy as np

from engine.work.operations.cells import Floats, OfCells, rising
from engine.work.operations.contract import Operation, Parameter, ResultKind
from engine.work.operations.problem import OperationProblem, Value

SIZE = Parameter(
    name="size",
    title="Size",
    explanation="Side of the square neighbourhood, odd. Cells outside the picture repeat the nearest one.",
    default=3,
    choices=(3, 5, 7, 9, 11, 13, 15),
)


def half_side(parameters: dict[str, Value]) -> int:
    """Return how many cells the neighbourhood has on each side."""
    return int(parameters["size"]) // 2


def _extreme(key: str, title: str, teaches: str, of_window: Callable[..., Floats]) -> Operation:
    def found(cells: Floats, problem: OperationProblem) -> Floats:
        # NumPy's minimum and maximum of NaN and a number are NaN.
        return of_window(cells, axis=(3, 4))

    of_cells = OfCells(rising(found), scales=True, exact=True)
    return Operation(
        key=key,
        title=title,
        teaches=teaches,
        result=ResultKind.PICTURE,
        window=half_side,
        parameters=(SIZE,),
        of_cells=of_cells,
        cost=60,
        proof=f"The {key} is one of the samples: it must be equal.",
    )


MINIMUM = _extreme(
    "minimum",
    "Minimum (erode)",
    "The lowest of a square neighbourhood: bright spots vanish and dark areas grow. The lowest of each "
    "column serves all windows that cross it.",
    np.min,
)
MAXIMUM = _extreme(
    "maximum",
    "Maximum (dilate)",
    "The highest of a square neighbourhood: dark spots vanish and bright areas grow.",
    np.max,
)
