"""Negative: every sample becomes its distance from white."""

from engine.work.operations.cells import OfCells, Range, rounded
from engine.work.operations.contract import Operation, ResultKind, pixel_alone
from engine.work.operations.problem import OperationProblem


def _of_cells(cells: Range, problem: OperationProblem) -> Range:
    """Return white less the sample: one rounding for float32; whole numbers are exact."""
    value, high, low, _ = cells.each(lambda part: problem.full_scale - part[..., 0, 0])
    return rounded(value, low, high, 2.0) if problem.is_float else Range(value, low, high)


NEGATIVE = Operation(
    key="negative",
    title="Negative",
    teaches="White less the sample: the simplest thing that a thread per sample can do, and limited by "
    "memory alone.",
    result=ResultKind.PICTURE,
    window=pixel_alone,
    of_cells=OfCells(_of_cells),
    proof="8 and 16 bit: equal; float32: one rounding.",
)
