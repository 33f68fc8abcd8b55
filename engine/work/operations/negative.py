"""Negative: every sample becomes its distance from white."""

import numpy as np

from engine.verify.closeness import UNIT_ROUNDOFF
from engine.verify.regions import Region
from engine.work.operations.cells import OfCells, Range, rounded
from engine.work.operations.contract import Operation, ResultKind, pixel_alone, verified_by
from engine.work.operations.problem import OperationProblem


def wanted(samples: np.ndarray, problem: OperationProblem, region: Region) -> np.ndarray:
    """Return white less the sample, float64."""
    negative: np.ndarray = problem.full_scale - samples[region.slices].astype(np.float64)
    return negative


def limits(samples: np.ndarray, problem: OperationProblem, region: Region) -> tuple[np.ndarray, np.ndarray]:
    """Return the bound: one rounding of the difference for float32; whole numbers are exact."""
    size = np.abs(wanted(samples, problem, region))
    size[~np.isfinite(size)] = 0.0
    return size, 2 * UNIT_ROUNDOFF * size * problem.is_float


def _of_cells(cells: Range, problem: OperationProblem) -> Range:
    value, low, high = (problem.full_scale - part[..., 0, 0] for part in cells.parts)
    return rounded(value, high, low, 2.0)


NEGATIVE = Operation(
    key="negative",
    title="Negative",
    teaches="White less the sample: the simplest thing that a thread per sample can do, and limited by "
    "memory alone.",
    result=ResultKind.PICTURE,
    window=pixel_alone,
    of_cells=OfCells(_of_cells),
    verify=verified_by(wanted, limits),
    proof="8 and 16 bit: equal; float32: one rounding.",
)
