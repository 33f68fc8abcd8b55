"""`cuda-desaturate`: a thread per pixel.

Idea
    Thread (row, column) reads red, green and blue of its pixel, adds them up by their weights in float32, and
    writes the brightness to all three channels.
Who loads what
    Three loads and three stores per thread. The channels lie side by side, so the first load of a warp
    already brings the cache lines of the other two.
Limit
    5 operations for 6 accesses: memory.

Source: COSC 407, "CUDA Memories and Performance Revisited", pixel-based operations.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant, pixels
from engine.work.operations.desaturate import weights_of
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_result
    from engine.device.numba_cuda import cuda, float32


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: three loads, 5 operations and three stores for each pixel."""
    return operation_work(problem, picture_loads=problem.samples, flops=5 * problem.pixels)


@kernel_factory
def kernel(dtype: str):
    """Return the kernel for a type of samples."""
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


VARIANT = cuda_variant(
    Step(
        lambda problem, block: kernel(problem.dtype),
        pixels,
        lambda problem, patch: (problem.width, *weights_of(problem)),
    ),
    work=work,
    key="cuda-desaturate",
    title="Thread per pixel",
    operation="desaturate",
    idea="One thread per pixel: three loads side by side, a weighted sum, three stores.",
)
