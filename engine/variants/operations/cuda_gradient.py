"""`cuda-gradient`: a thread per sample forms both derivatives of its nine cells, and their length.

Who loads what
    Each thread loads 8 cells; neighbours ask for the same, which the caches serve.
What it saves
    Against two masks and their length: two pictures that are written and read again.
Limit
    Loads: 8 for each sample.
"""

import math
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant
from engine.work.operations.gradient_magnitude import weights_of
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_result, cuda_rule
    from engine.device.numba_cuda import cuda, float32

OPERATIONS = 19


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: 8 loads for each sample."""
    return operation_work(problem, picture_loads=8 * problem.samples, flops=OPERATIONS * problem.samples)


@kernel_factory
def kernel(dtype: str, side: int, middle: int):
    """Return the kernel for a type of samples and the weights of the derivatives."""
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


VARIANT = cuda_variant(
    Step(lambda problem, block: kernel(problem.dtype, *weights_of(problem))),
    work=work,
    key="cuda-gradient",
    title="Thread per sample",
    operation="gradient-magnitude",
    idea="A thread per sample forms both derivatives of its nine cells and their length: no picture between.",
)
