"""Bilateral filter: a mean of the neighbours that are near, and near in colour, so that edges stay.

    r = sum of w x / sum of w,   w = exp(-(m^2 + n^2) / 2 space^2) exp(-d^2 / 2 colour^2)

over the cells of a disc, where d is the distance of a cell's colour from the middle's, all channels together.
A variant adds up w (x - x0), x0 the middle, and adds x0 at the end: what it rounds are differences.

The bound: the weights of float32 are off by at most `WEIGHT_ERROR` (`falling_polynomial` and the rounding of
its argument). With cells that are off by e, the distance of colours is off by 2 e times the root of the
channels, and exp(-d^2 / 2 s^2) has no slope above exp(-1/2) / s. As sum of w (x - r) = 0,

    r' - r = sum of w' (x' - x) / W' + sum of (w' - w) (x - r) / W'

so r is off by e and by the largest |w' - w| times the sum of |x - r| over W', by the rounding of both sums
and of their quotient, relative to the largest difference, and by that of the last sum. W' is never below 1,
the weight of the middle.

Source: Tomasi and Manduchi, "Bilateral filtering for gray and color images", ICCV 1998.
"""

import math

import numpy as np

from engine.errors import BadValue
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF
from engine.work.operations.cells import OfCells, Range
from engine.work.operations.contract import Operation, Parameter, ResultKind
from engine.work.operations.problem import OperationProblem, Value

# Of the exponential 8 roundings and its polynomial, 2e-8; of its argument t at most (2 channels + 7)
# roundings, times t exp(-t) <= 0.37: 6; of the product with the weight of the place 2 more.
WEIGHT_ERROR = 16 * UNIT_ROUNDOFF + 2e-8
_STEEPEST = math.exp(-0.5)


def window(parameters: dict[str, Value]) -> int:
    """Return the radius of the disc."""
    return int(parameters["size"]) // 2


def disc_of(parameters: dict[str, Value]) -> np.ndarray:
    """Return the weights of the places, float64 (size, size), 0 outside the disc."""
    half = window(parameters)
    along = np.arange(-half, half + 1.0)
    squares = along[:, np.newaxis] ** 2 + along**2
    disc: np.ndarray = np.exp(squares / (-2.0 * float(parameters["space"]) ** 2)) * (squares <= half * half)
    return disc


def steepness_of(problem: OperationProblem) -> np.float32:
    """Return what the square of a distance is multiplied by for the exponent of 2, float32."""
    colour = float(problem.parameters["colour"]) * problem.full_scale
    return np.float32(1.0 / (2.0 * colour * colour * math.log(2.0)))


def operations_of(problem: OperationProblem) -> int:
    """Return the operations for a pixel: 19, and 6 for each channel, for a cell; 2 more for each channel."""
    cells = int(np.count_nonzero(disc_of(problem.parameters)))
    return cells * (19 + 6 * problem.channels) + 2 * problem.channels


def refuse_not_finite(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse NaN and infinity, whose distance from a colour is no number."""
    if samples.dtype.kind == "f" and not np.isfinite(samples).all():
        why = "the distance of its colours is not a number"
        raise BadValue("a picture with NaN or infinity", why, "Replace these samples first.")


def ranges(cells: Range, problem: OperationProblem) -> Range:
    """Return the means, and what the module's docstring derives."""
    half, channels = window(problem.parameters), problem.channels
    disc, x = disc_of(problem.parameters), cells.value
    colour = float(problem.parameters["colour"]) * problem.full_scale
    middle = x[..., half, half][..., np.newaxis, np.newaxis]
    squares = ((x - middle) ** 2).sum(axis=2, keepdims=True)
    weights = disc * np.exp(squares / (-2.0 * colour * colour))
    total = weights.sum(axis=(-1, -2))
    value = (weights * x).sum(axis=(-1, -2)) / total
    error = cells.error.max(axis=(-1, -2, -3), keepdims=True)[..., 0, 0]
    off = WEIGHT_ERROR + error * (2.0 * math.sqrt(channels) * _STEEPEST / colour)
    apart = (disc * np.abs(x - value[..., np.newaxis, np.newaxis])).sum(axis=(-1, -2))
    least = np.maximum(total - off * disc.sum(), 1.0 - WEIGHT_ERROR)
    taps = int((disc > 0).sum())
    largest = np.abs(x - middle).max(axis=(-1, -2)) + 2 * error
    bound = error + off * apart / least + (2 * taps + 10) * UNIT_ROUNDOFF * largest
    bound = bound + 2 * UNIT_ROUNDOFF * (np.abs(value) + error) + taps * SMALLEST_SUBNORMAL
    return Range(value, value - bound, value + bound)


OF_CELLS = OfCells(ranges)

BILATERAL = Operation(
    key="bilateral",
    title="Bilateral filter",
    teaches="A blur that stops at edges: each weight is an exponential of a difference of samples, so the "
    "mask is another one at every pixel, and arithmetic counts, not memory.",
    result=ResultKind.PICTURE,
    window=window,
    parameters=(
        Parameter(
            name="size",
            title="Size",
            explanation="Across the disc of neighbours, odd. Cells outside the picture repeat the nearest.",
            default=5,
            choices=(3, 5, 7, 9, 11, 13, 15),
        ),
        Parameter(
            name="space",
            title="Space",
            explanation="Standard deviation of the weights over the distance in the picture.",
            default=2.0,
            least=0.1,
            most=50.0,
            unit="px",
        ),
        Parameter(
            name="colour",
            title="Colour",
            explanation="Standard deviation of the weights over the difference of colours, as a share of "
            "white (0.1 of 8 bit: 25.5). Large differences are edges and stay.",
            default=0.1,
            least=0.001,
            most=10.0,
        ),
    ),
    refuse=refuse_not_finite,
    of_cells=OF_CELLS,
    cost=200,
    proof="A bound from the error of each weight, of both sums and of their quotient.",
)
