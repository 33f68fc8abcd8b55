"""Desaturate: each pixel becomes the grey of its brightness, in all three channels.

Source of the weights: ITU-R BT.601 and BT.709, the equations of luminance.
"""

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.result_rules import cpu_largest, cpu_result
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, Step, cuda_variant, pixels
from engine.verify.closeness import SMALLEST_SUBNORMAL, relative_bound
from engine.work.operations import contract
from engine.work.problem import OperationProblem

if TYPE_CHECKING:  # imported by `kernel_factory` and `CpuCode`
    from engine.device.numba_cuda import cuda, cuda_result, float32

WEIGHTS = {
    "rec601": (0.299, 0.587, 0.114),
    "rec709": (0.2126, 0.7152, 0.0722),
    "equal": (1 / 3, 1 / 3, 1 / 3),
}


def weights_of(problem: OperationProblem) -> np.ndarray:
    """Return the weights of red, green and blue, float32, as the kernels get them."""
    return np.array(WEIGHTS[str(problem.parameters["weights"])], np.float32)


def _of_cells(cells: contract.Range, problem: OperationProblem) -> contract.Range:
    """Return the weighted sum in all three channels: a float32 sum of three products."""
    weights = weights_of(problem).astype(np.float64)

    def grey(part: contract.Floats) -> contract.Floats:
        return np.repeat((part[..., 0, 0] @ weights)[..., np.newaxis], 3, axis=2)

    value, low, high, _ = cells.each(grey)
    size = np.maximum(np.abs(cells.low), np.abs(cells.high))[..., 0, 0] @ weights
    bound = relative_bound(6) * size[..., np.newaxis] + 4 * SMALLEST_SUBNORMAL
    return contract.Range(value, low - bound, high + bound)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is read and written once; 5 operations for a pixel."""
    return contract.operation_work(problem, picture_loads=problem.samples, flops=5 * problem.pixels)


@CpuCode
def cpu_code():
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


CPU = cpu_code.variant(
    lambda problem, patch: cpu_code.bands(
        problem, 4 * problem.width, (*weights_of(problem), cpu_largest(problem.dtype))
    ),
    key="cpu-desaturate",
    idea="Each pixel's brightness, on all cores.",
    work=work,
)


@kernel_factory
def kernel(dtype: str):
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


CUDA = cuda_variant(
    Step(
        lambda problem, block: kernel(problem.dtype),
        pixels,
        lambda problem, patch: (problem.width, *weights_of(problem)),
    ),
    work=work,
    key="cuda-desaturate",
    title="Thread per pixel",
    idea="One thread per pixel: three loads side by side, a weighted sum, three stores.",
)

PARAMETERS = (
    contract.Parameter("weights", "Weights",
              "How much red, green and blue count: rec601 (0.299, 0.587, 0.114, as in JPEG), rec709 (0.2126, "
              "0.7152, 0.0722, as on screens), or equal.",
              "rec601", choices=tuple(WEIGHTS)),
)  # fmt: skip

DESATURATE = contract.Operation(
    key="desaturate",
    title="Desaturate",
    teaches="A thread per pixel reads three samples and writes one brightness three times: neighbours in a "
    "warp read 96 bytes in a row.",
    window=contract.pixel_alone,
    of_cells=contract.OfCells(_of_cells, scales=True),
    parameters=PARAMETERS,
    refuse=contract.takes_rgb,
    cost=2,
    proof="The rounding bound of a float32 sum of three products.",
    variants=(CPU, CUDA),
)
