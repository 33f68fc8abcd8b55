"""Median: each sample becomes the middle one of its neighbourhood; single wrong samples vanish."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from engine.geometry.border import Border
from engine.tasks.operation.contract import Operation, Parameter, ResultKind, verified_by
from engine.tasks.operation.problem import OperationProblem, Value
from engine.verify.regions import Region

BORDER = Border.REPLICATE
SIZES = (3, 5)


def _half_side(parameters: dict[str, Value]) -> int:
    return int(parameters["size"]) // 2


def wanted(samples: np.ndarray, problem: OperationProblem, region: Region) -> np.ndarray:
    """Return the middle of each sorted window; a window with NaN has the result NaN."""
    size = problem.whole("size")
    rows, columns = region.ranges
    down, across = (
        np.clip(np.arange(along.start - size // 2, along[-1] + size // 2 + 1), 0, length - 1)
        for along, length in zip((rows, columns), samples.shape[:2], strict=True)
    )
    cells = samples[down[:, np.newaxis], across]
    windows = sliding_window_view(cells, (size, size), axis=(0, 1))[:: region.step, :: region.step]
    ordered = np.sort(windows.reshape(*windows.shape[:3], size * size), axis=3)
    middle = ordered[..., size * size // 2].astype(np.float64)
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
    verify=verified_by(wanted, cost=100),
    proof="The middle one is one of the samples: it must be equal.",
)
