"""Grey morphology with a square: minima and maxima, one after the other, and their differences.

Source: Serra, "Image Analysis and Mathematical Morphology", 1982; flat structuring elements.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from engine.work.operations.cells import Floats, OfCells, Range, rounded
from engine.work.operations.contract import Operation, Parameter, ResultKind
from engine.work.operations.extreme import SIZE
from engine.work.operations.problem import OperationProblem, Value

KINDS = ("open", "close", "gradient", "top-hat", "black-hat")


def window(parameters: dict[str, Value]) -> int:
    """Return how far away cells count: twice the half side, where one minimum follows the other."""
    half = int(parameters["size"]) // 2
    return half if parameters["kind"] == "gradient" else 2 * half


def ranges(cells: Range, problem: OperationProblem) -> Range:
    """Return opened, closed ... values; a difference is rounded once."""
    size, kind = problem.whole("size"), problem.parameters["kind"]
    middle = cells.value.shape[-1] // 2

    def at(part: Floats) -> Floats:
        return part[..., middle, middle]

    def lowest(part: Floats) -> Floats:
        found: Floats = part.min(axis=(-1, -2))
        return found

    def highest(part: Floats) -> Floats:
        found: Floats = part.max(axis=(-1, -2))
        return found

    def of_windows(part: Floats, along_axis: Callable[..., Floats]) -> Floats:
        along = along_axis(sliding_window_view(part, size, axis=-1), axis=-1)
        return along_axis(sliding_window_view(along, size, axis=-2), axis=-1)

    # Of windows whose middle lies outside the picture there is no first value that the second could take.
    half = size // 2
    inside = cast(np.ndarray, cells.inside)[..., half : half + size, half : half + size]

    def opened(part: Floats) -> Floats:
        return highest(np.where(inside, of_windows(part, np.min), -np.inf))

    def closed(part: Floats) -> Floats:
        return lowest(np.where(inside, of_windows(part, np.max), np.inf))

    def difference(more: Callable[[Floats], Floats], less: Callable[[Floats], Floats]) -> Range:
        a, b = cells.each(more), cells.each(less)
        low, high = a.low - b.high, a.high - b.low
        # Neither is ever below the other, whatever the cells; whole numbers of 8 and 16 bit round nothing.
        roundings = 2.0 if problem.is_float else 0.0
        return rounded(a.value - b.value, np.maximum(low, np.minimum(high, 0.0)), high, roundings)

    if kind == "gradient":
        return difference(highest, lowest)
    if kind == "top-hat":
        return difference(at, opened)
    if kind == "black-hat":
        return difference(closed, at)
    return cells.each(opened if kind == "open" else closed)


OF_CELLS = OfCells(ranges, scales=True, exact=True)

MORPHOLOGY = Operation(
    key="morphology",
    title="Morphology",
    teaches="Opening removes bright spots that are smaller than the square, closing dark ones, and the top "
    "hat is what opening takes away: minima and maxima in turns, with a whole picture between them.",
    result=ResultKind.PICTURE,
    window=window,
    parameters=(
        Parameter(
            name="kind",
            title="Kind",
            explanation="open (minimum, then maximum), close (maximum, then minimum), gradient (maximum less "
            "minimum), top-hat (the picture less its opening), black-hat (the closing less the picture).",
            default="open",
            choices=KINDS,
        ),
        SIZE,
    ),
    of_cells=OF_CELLS,
    cost=200,
    proof="Minima and maxima are samples and must be equal; a difference of float32 is rounded once.",
)
