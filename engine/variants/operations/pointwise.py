"""Operations on each sample, or each pixel, by itself: negative, threshold, desaturate.

Sources: COSC 407, "CUDA Memories and Performance Revisited", pixel-based operations; of the weights of
`desaturate` ITU-R BT.601 and BT.709, the equations of luminance.
"""

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.result_rules import cpu_largest, cpu_result
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, Step, cuda_variant, pixels
from engine.verify.closeness import SMALLEST_SUBNORMAL, relative_bound
from engine.work.operations.contract import (
    Floats,
    OfCells,
    Operation,
    Parameter,
    Range,
    operation_work,
    pixel_alone,
    rising,
    rounded,
    takes_rgb,
)
from engine.work.problem import OperationProblem

if TYPE_CHECKING:  # imported by `kernel_factory` and `CpuCode`
    from engine.device.numba_cuda import cuda, cuda_result, float32


def sample_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: a load, a subtraction or a comparison, and a store for each sample."""
    return operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


def _negative(cells: Range, problem: OperationProblem) -> Range:
    """Return white less the sample: one rounding for float32; whole numbers are exact."""
    value, high, low, _ = cells.each(lambda part: problem.full_scale - part[..., 0, 0])
    return rounded(value, low, high, 2.0) if problem.is_float else Range(value, low, high)


@CpuCode
def negative_code():
    """`cpu-negative`: white less each sample, on all cores; the compiler makes vectors of the loop.

    Limit
        Memory: each sample is read once and written once.
    """

    def negative(image, out, top, bottom, worker, white):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                out[row, sample] = white - image[row, sample]

    return negative


def white_of(dtype: str) -> object:
    """Return white in the type of the difference."""
    return np.float32(1.0) if dtype == "float32" else int(np.iinfo(dtype).max)


CPU_NEGATIVE = negative_code.variant(
    lambda problem, patch: negative_code.bands(
        problem, problem.width * problem.channels, (white_of(problem.dtype),)
    ),
    key="cpu-negative",
    idea="White less each sample, in vectors, on all cores.",
    work=sample_work,
)


@kernel_factory
def negative_kernel(dtype: str):
    """`cuda-negative`: a thread per sample.

    Idea
        Thread (row, column) of layer `channel` writes white less its sample.
    Who loads what
        Each thread loads one sample and stores one. In a picture of one channel the threads of a warp read
        neighbours; of three channels every third sample, so that three layers ask for each cache line.
    Limit
        One operation for two accesses: only memory counts.

    Source: COSC 407, "CUDA Memories and Performance Revisited", pixel-based operations.
    """
    white = white_of(dtype)

    @cuda.jit
    def negate(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        out[row, column, channel] = white - image[row, column, channel]

    return negate


CUDA_NEGATIVE = cuda_variant(
    Step(lambda problem, block: negative_kernel(problem.dtype)),
    work=sample_work,
    key="cuda-negative",
    title="Thread per sample",
    idea="One thread per sample: a load, a subtraction, a store.",
    story=negative_kernel.__doc__,
)

NEGATIVE = Operation(
    key="negative",
    title="Negative",
    teaches="White less the sample: the simplest thing that a thread per sample can do, and limited by "
    "memory alone.",
    window=pixel_alone,
    of_cells=OfCells(_negative),
    proof="8 and 16 bit: equal; float32: one rounding.",
    variants=(CPU_NEGATIVE, CUDA_NEGATIVE),
)


def level_of(problem: OperationProblem) -> np.float32:
    """Return the level in the scale of the samples, float32, as the kernels get it."""
    return np.float32(float(problem.parameters["level"]) * problem.full_scale)


def _above(cells: Floats, problem: OperationProblem) -> Floats:
    """Return white or black; NaN is above no level."""
    white: Floats = np.where(cells[..., 0, 0] > float(level_of(problem)), problem.full_scale, 0.0)
    return white


@CpuCode
def threshold_code():
    """`cpu-threshold`: each sample compared with the level, on all cores; NaN is above none.

    Limit
        Memory: each sample is read once and written once.
    """

    def threshold(image, out, top, bottom, worker, level, white):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                out[row, sample] = white if np.float32(image[row, sample]) > level else np.float32(0.0)

    return threshold


CPU_THRESHOLD = threshold_code.variant(
    lambda problem, patch: threshold_code.bands(
        problem,
        problem.width * problem.channels,
        (level_of(problem), np.float32(problem.full_scale)),
    ),
    key="cpu-threshold",
    idea="Each sample compared with the level, in vectors, on all cores.",
    work=sample_work,
)


@kernel_factory
def threshold_kernel(dtype: str):
    """`cuda-threshold`: a thread per sample.

    Idea
        Thread (row, column) of layer `channel` writes white or black: a selection, no branch.
    Who loads what
        As `cuda-negative`: one load and one store for each thread.
    Limit
        Memory.
    """
    white = np.float32(1.0) if dtype == "float32" else np.float32(np.iinfo(dtype).max)

    @cuda.jit
    def threshold(image, width, level, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        above = float32(image[row, column, channel]) > level
        out[row, column, channel] = white if above else float32(0.0)

    return threshold


CUDA_THRESHOLD = cuda_variant(
    Step(
        lambda problem, block: threshold_kernel(problem.dtype),
        arguments=lambda problem, patch: (problem.width, level_of(problem)),
    ),
    work=sample_work,
    key="cuda-threshold",
    title="Thread per sample",
    idea="One thread per sample: a load, a comparison, a store.",
    story=threshold_kernel.__doc__,
)

THRESHOLD = Operation(
    key="threshold",
    title="Threshold",
    teaches="A comparison for each sample and no branch: white above a level, black elsewhere.",
    window=pixel_alone,
    parameters=(
        Parameter(
            name="level",
            title="Level",
            explanation="From 0, black, to 1, white. A sample above it becomes white, all others black.",
            default=0.5,
            least=0.0,
            most=1.0,
        ),
    ),
    of_cells=OfCells(rising(_above), jumps=True),
    proof="Black or white: equal.",
    variants=(CPU_THRESHOLD, CUDA_THRESHOLD),
)


WEIGHTS = {
    "rec601": (0.299, 0.587, 0.114),
    "rec709": (0.2126, 0.7152, 0.0722),
    "equal": (1 / 3, 1 / 3, 1 / 3),
}


def weights_of(problem: OperationProblem) -> np.ndarray:
    """Return the weights of red, green and blue, float32, as the kernels get them."""
    return np.array(WEIGHTS[str(problem.parameters["weights"])], np.float32)


def _brightness(cells: Range, problem: OperationProblem) -> Range:
    """Return the weighted sum in all three channels: a float32 sum of three products."""
    weights = weights_of(problem).astype(np.float64)

    def grey(part: Floats) -> Floats:
        return np.repeat((part[..., 0, 0] @ weights)[..., np.newaxis], 3, axis=2)

    value, low, high, _ = cells.each(grey)
    size = np.maximum(np.abs(cells.low), np.abs(cells.high))[..., 0, 0] @ weights
    bound = relative_bound(6) * size[..., np.newaxis] + 4 * SMALLEST_SUBNORMAL
    return Range(value, low - bound, high + bound)


def pixel_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is read and written once; 5 operations for a pixel."""
    return operation_work(problem, picture_loads=problem.samples, flops=5 * problem.pixels)


@CpuCode
def desaturate_code():
    """`cpu-desaturate`: the weighted sum of each pixel's channels, on all cores.

    Limit
        Three samples lie side by side, so that vectors have to be put together first.
    """

    def desaturate(image, out, top, bottom, worker, red, green, blue, largest):
        for row in range(top, bottom):
            for pixel in range(image.shape[1] // 3):
                at = 3 * pixel
                grey = red * np.float32(image[row, at]) + green * np.float32(image[row, at + 1])
                result = cpu_result(grey + blue * np.float32(image[row, at + 2]), largest)
                out[row, at] = result
                out[row, at + 1] = result
                out[row, at + 2] = result

    return desaturate


CPU_DESATURATE = desaturate_code.variant(
    lambda problem, patch: desaturate_code.bands(
        problem, 4 * problem.width, (*weights_of(problem), cpu_largest(problem.dtype))
    ),
    key="cpu-desaturate",
    idea="Each pixel's brightness, on all cores.",
    work=pixel_work,
)


@kernel_factory
def desaturate_kernel(dtype: str):
    """`cuda-desaturate`: a thread per pixel.

    Idea
        Thread (row, column) reads red, green and blue of its pixel, adds them up by their weights in float32,
        and writes the brightness to all three channels.
    Who loads what
        Three loads and three stores per thread. The channels lie side by side, so the first load of a warp
        already brings the cache lines of the other two.
    Limit
        5 operations for 6 accesses: memory.

    Source: COSC 407, "CUDA Memories and Performance Revisited", pixel-based operations.
    """
    as_result = cuda_result(dtype)

    @cuda.jit
    def desaturate(image, width, red, green, blue, out):
        column, row = cuda.grid(2)
        if row >= image.shape[0] or column >= width:
            return
        grey = red * float32(image[row, column, 0]) + green * float32(image[row, column, 1])
        grey = as_result(grey + blue * float32(image[row, column, 2]))
        out[row, column, 0] = grey
        out[row, column, 1] = grey
        out[row, column, 2] = grey

    return desaturate


CUDA_DESATURATE = cuda_variant(
    Step(
        lambda problem, block: desaturate_kernel(problem.dtype),
        pixels,
        lambda problem, patch: (problem.width, *weights_of(problem)),
    ),
    work=pixel_work,
    key="cuda-desaturate",
    title="Thread per pixel",
    idea="One thread per pixel: three loads side by side, a weighted sum, three stores.",
    story=desaturate_kernel.__doc__,
)

DESATURATE = Operation(
    key="desaturate",
    title="Desaturate",
    teaches="A thread per pixel reads three samples and writes one brightness three times: neighbours in a "
    "warp read 96 bytes in a row.",
    window=pixel_alone,
    of_cells=OfCells(_brightness, scales=True),
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
    refuse=takes_rgb,
    cost=2,
    proof="The rounding bound of a float32 sum of three products.",
    variants=(CPU_DESATURATE, CUDA_DESATURATE),
)
