"""Desaturate: each pixel becomes the grey of its brightness, in all three channels.

Source of the weights: ITU-R BT.601 and BT.709, the equations of luminance.
"""

import numpy as np

from engine.errors import BadValue
from engine.verify.closeness import SMALLEST_SUBNORMAL, relative_bound
from engine.work.operations.cells import Floats, OfCells, Range
from engine.work.operations.contract import Operation, Parameter, ResultKind, pixel_alone
from engine.work.operations.problem import OperationProblem, Value

WEIGHTS = {
    "rec601": (0.299, 0.587, 0.114),
    "rec709": (0.2126, 0.7152, 0.0722),
    "equal": (1 / 3, 1 / 3, 1 / 3),
}


def weights_of(problem: OperationProblem) -> np.ndarray:
    """Return the weights of red, green and blue, float32, as the kernels get them."""
    return np.array(WEIGHTS[str(problem.parameters["weights"])], np.float32)


def refuse_all_but_rgb(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse, with a `BadValue`, a picture without three channels: it has no colour."""
    if samples.shape[2] != 3:
        number = samples.shape[2]
        what = "a grey picture" if number == 1 else f"a picture of {number} channels"
        raise BadValue(
            what, "the operation changes colours, red, green and blue", "Take one of three channels."
        )


def _of_cells(cells: Range, problem: OperationProblem) -> Range:
    """Return the weighted sum in all three channels: a float32 sum of three products."""
    weights = weights_of(problem).astype(np.float64)

    def grey(part: Floats) -> Floats:
        return np.repeat((part[..., 0, 0] @ weights)[..., np.newaxis], 3, axis=2)

    value, low, high, _ = cells.each(grey)
    size = np.maximum(np.abs(cells.low), np.abs(cells.high))[..., 0, 0] @ weights
    bound = relative_bound(6) * size[..., np.newaxis] + 4 * SMALLEST_SUBNORMAL
    return Range(value, low - bound, high + bound)


DESATURATE = Operation(
    key="desaturate",
    title="Desaturate",
    teaches="A thread per pixel reads three samples and writes one brightness three times: neighbours in a "
    "warp read 96 bytes in a row.",
    result=ResultKind.PICTURE,
    window=pixel_alone,
    of_cells=OfCells(_of_cells, scales=True),
    parameters=(
        Parameter(
            name="weights",
            title="Weights",
            explanation="How much red, green and blue count: rec601 (0.299, 0.587, 0.114, as in JPEG), "
            "rec709 (0.2126, 0.7152, 0.0722, as on screens), or equal.",
            default="rec601",
            choices=tuple(WEIGHTS),
        ),
    ),
    refuse=refuse_all_but_rgb,
    cost=2,
    proof="The rounding bound of a float32 sum of three products.",
)
