"""Gradient magnitude: the length of the two derivatives of each sample, along the row and along the column.

The bound: each derivative is a float32 sum of six products with whole weights, off by at most 7 roundings of
its sum of magnitudes (`engine.work.filtering.oracle` has the rule); squares, their sum and the root add 4
roundings of the length, and a length never grows by more than its two sides do.
"""

import math

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, cuda_result, cuda_rule, float32
from engine.device.result_rules import cpu_largest, cpu_result
from engine.geometry.border import Border
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF
from engine.work.operations.contract import Floats, OfCells, Operation, Parameter, Range, operation_work
from engine.work.problem import OperationProblem

# Weights of the side cell and of the middle one; their differences are taken one column, or row, apart.
MASKS = {"sobel": (1, 2), "scharr": (3, 10), "prewitt": (1, 1)}
# The square of a smaller length is subnormal, or 0.
TINY = 2.0**-62


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


@CpuCode
def cpu_code():
    """`cpu-gradient`: both derivatives of neighbouring samples in vectors, on all cores.

    Idea
        A core takes three rows and forms both derivatives of whole rows; the length follows at once, so that
        neither derivative is ever stored.
    What it saves
        Against two masks and their length: three passes over memory become one.
    Limit
        Memory for 8 bit, the root for float32.
    """

    def magnitude(image, out, top, bottom, worker, channels, side, middle, lines, largest):
        height, samples = image.shape
        # Of each column the sum of three cells, for the derivative along the row, and the difference of two;
        # their ends are repeated.
        summed, differences = lines[worker, 0], lines[worker, 1]
        for row in range(top, bottom):
            above, below = max(row - 1, 0), min(row + 1, height - 1)
            for sample in range(samples):
                high, low = np.float32(image[above, sample]), np.float32(image[below, sample])
                summed[channels + sample] = side * (high + low) + middle * np.float32(image[row, sample])
                differences[channels + sample] = low - high
            for channel in range(channels):
                summed[channel] = summed[channels + channel]
                differences[channel] = differences[channels + channel]
                end = samples + channel
                summed[channels + end] = summed[end]
                differences[channels + end] = differences[end]
            for sample in range(samples):
                x = summed[sample + 2 * channels] - summed[sample]
                y = side * (differences[sample] + differences[sample + 2 * channels])
                y += middle * differences[sample + channels]
                out[row, sample] = cpu_result(math.sqrt(x * x + y * y), largest)

    return magnitude


def _prepare(problem: OperationProblem, patch: object) -> object:
    numbers = problem.channels, *map(np.float32, weights_of(problem))
    length, largest = (problem.width + 2) * problem.channels, cpu_largest(problem.dtype)
    return cpu_code.bands(
        problem,
        8 * problem.width * problem.channels,
        lambda workers: (*numbers, np.zeros((workers, 2, length), np.float32), largest),
    )


CPU = cpu_code.variant(
    _prepare,
    key="cpu-gradient",
    idea="Sums and differences down columns, then along the row, and the length, in vectors, on all cores.",
    # Three rows for each row, the rest is in a cache. For a sample 3 differences and 5 of sums and products
    # for each derivative, and a length.
    work=lambda problem, block: operation_work(
        problem, picture_loads=3 * problem.samples, flops=17 * problem.samples
    ),
)


@kernel_factory
def kernel(dtype: str, side: int, middle: int):
    """`cuda-gradient`: a thread per sample forms both derivatives of its nine cells, and their length.

    Who loads what
        Each thread loads 8 cells; neighbours ask for the same, which the caches serve.
    What it saves
        Against two masks and their length: two pictures that are written and read again.
    Limit
        Loads: 8 for each sample.
    """
    rule, result = cuda_rule(Border.REPLICATE), cuda_result(dtype)
    SIDE, MIDDLE = side, middle

    @cuda.jit
    def gradient(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        above, below = rule(row - 1, height), rule(row + 1, height)
        left, right = rule(column - 1, width), rule(column + 1, width)
        a, b = float32(image[above, left, channel]), float32(image[above, column, channel])
        c, d = float32(image[above, right, channel]), float32(image[row, left, channel])
        e, f = float32(image[row, right, channel]), float32(image[below, left, channel])
        g, h = float32(image[below, column, channel]), float32(image[below, right, channel])
        side, middle = float32(SIDE), float32(MIDDLE)
        x = side * ((c - a) + (h - f)) + middle * (e - d)
        y = side * ((f - a) + (h - c)) + middle * (g - b)
        out[row, column, channel] = result(math.sqrt(x * x + y * y))

    return gradient


CUDA = cuda_variant(
    OperationLaunch(lambda problem, block: kernel(problem.dtype, *weights_of(problem))),
    work=lambda problem, block: operation_work(
        problem, picture_loads=8 * problem.samples, flops=19 * problem.samples
    ),
    key="cuda-gradient",
    idea="A thread per sample forms both derivatives of its nine cells and their length: no picture between.",
)

PARAMETERS = (
    Parameter("mask", "Mask",
              "The weights of the two derivatives: sobel (1 2 1), scharr (3 10 3) or prewitt (1 1 1). Cells "
              "outside the picture repeat the nearest one.",
              "sobel", choices=tuple(MASKS)),
)  # fmt: skip

GRADIENT_MAGNITUDE = Operation(
    key="gradient-magnitude",
    title="Gradient magnitude (Sobel)",
    teaches="Edges of every direction in one pass: both derivatives are formed from the same nine cells, and "
    "no picture is stored between.",
    window=lambda parameters: 1,
    parameters=PARAMETERS,
    of_cells=OfCells(ranges, scales=True),
    cost=20,
    proof="The rounding bound of two float32 sums, of their squares and of a root.",
    variants=(CPU, CUDA),
)
