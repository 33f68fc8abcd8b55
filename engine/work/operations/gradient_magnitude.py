"""Gradient magnitude: the length of the two derivatives of each sample, along the row and along the column.

The bound: each derivative is a float32 sum of six products with whole weights, off by at most 7 roundings of
its sum of magnitudes (`engine.work.filtering.agreement` has the rule); squares, their sum and the root add 4
roundings of the length, and a length never grows by more than its two sides do.
"""

import numpy as np

from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF
from engine.work.operations.cells import Floats, OfCells, Range
from engine.work.operations.contract import Operation, Parameter, ResultKind
from engine.work.operations.problem import OperationProblem, Value

# Weights of the side cell and of the middle one; their differences are taken one column, or row, apart.
MASKS = {"sobel": (1, 2), "scharr": (3, 10), "prewitt": (1, 1)}
# The square of a smaller length is subnormal, or 0.
TINY = 2.0**-62


def window(parameters: dict[str, Value]) -> int:
    """Return the window of three cells."""
    return 1


def weights_of(problem: OperationProblem) -> tuple[int, int]:
    """Return the weights of the side cell and of the middle one."""
    return MASKS[str(problem.parameters["mask"])]


def _derivatives(cells: Floats, side: float, middle: float, sign: float) -> tuple[Floats, Floats]:
    """Return both derivatives; of magnitudes, with the sign 1, what they add up to."""

    def of_columns(at: Floats) -> Floats:
        before, after = at[..., 0], at[..., 2]
        ends: Floats = after[..., 0] + sign * before[..., 0] + after[..., 2] + sign * before[..., 2]
        return side * ends + middle * (after[..., 1] + sign * before[..., 1])

    return of_columns(cells), of_columns(np.swapaxes(cells, -1, -2))


def ranges(cells: Range, problem: OperationProblem) -> Range:
    """Return the length of the two derivatives."""
    side, middle = weights_of(problem)
    x, y = _derivatives(cells.value, side, middle, -1.0)
    value = np.sqrt(x * x + y * y)
    errors = _derivatives(np.maximum(cells.high - cells.value, cells.value - cells.low), side, middle, 1.0)
    magnitudes = _derivatives(np.maximum(np.abs(cells.low), np.abs(cells.high)), side, middle, 1.0)
    of_sides = [error + 8 * UNIT_ROUNDOFF * size for error, size in zip(errors, magnitudes, strict=True)]
    error = np.hypot(*of_sides)
    error += 6 * UNIT_ROUNDOFF * (value + error) + TINY + 8 * SMALLEST_SUBNORMAL
    return Range(value, np.maximum(value - error, 0.0), value + error)


OF_CELLS = OfCells(ranges, scales=True)

GRADIENT_MAGNITUDE = Operation(
    key="gradient-magnitude",
    title="Gradient magnitude",
    teaches="Edges of every direction in one pass: both derivatives are formed from the same nine cells, and "
    "no picture is stored between.",
    result=ResultKind.PICTURE,
    window=window,
    parameters=(
        Parameter(
            name="mask",
            title="Mask",
            explanation="The weights of the two derivatives: sobel (1 2 1), scharr (3 10 3) or prewitt "
            "(1 1 1). Cells outside the picture repeat the nearest one.",
            default="sobel",
            choices=tuple(MASKS),
        ),
    ),
    of_cells=OF_CELLS,
    cost=20,
    proof="The rounding bound of two float32 sums, of their squares and of a root.",
)
