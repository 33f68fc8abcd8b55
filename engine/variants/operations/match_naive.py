"""`match-naive`: a thread per position, everything in global memory.

Idea
    Thread (row, column) compares the patch with the window whose upper left corner it is: the mean of what
    its cells are more than its first one, then the sums of (w - m) t and (w - m)^2.
Who loads what
    Every thread loads its window twice and the patch once from global memory. The threads of a warp read
    neighbouring cells, and all of them the same cell of the patch (one broadcast).
Limit
    16 x 16 pixels of three channels are 2,304 loads per thread, nearly all of which its neighbours make too.

Source: COSC 407, "CUDA Memories and Performance Revisited", image correlation.
"""

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant
from engine.variants.operations.match_grid import OPERATIONS_PER_CELL, cells_of, match_arguments, positions
from engine.work.operations.find_patch import LEAST_SQUARES
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: for each position its first cell, its window twice, and the patch once."""
    cells = cells_of(problem)
    return operation_work(
        problem,
        picture_loads=problem.values * (2 * cells + 1),
        other_loads=problem.values * cells,
        flops=OPERATIONS_PER_CELL * problem.values * cells,
    )


@kernel_factory
def kernel():
    """Return the kernel: any patch, any type of samples."""
    LEAST = np.float32(LEAST_SQUARES)

    @cuda.jit
    def match_naive(image, patch, width, columns, out):
        column, row = cuda.grid(2)
        if row >= out.shape[0] or column >= columns:
            return
        height, across, channels = patch.shape
        # A difference of near numbers is exact, however large they are.
        origin, total = float32(image[row, column, 0]), float32(0.0)
        for channel in range(channels):
            for m in range(height):
                partial = float32(0.0)
                for n in range(across):
                    partial += float32(image[row + m, column + n, channel]) - origin
                total += partial
        mean = total / float32(height * across * channels)
        above = below = float32(0.0)
        for channel in range(channels):
            for m in range(height):
                partial = partial_below = float32(0.0)
                for n in range(across):
                    difference = float32(image[row + m, column + n, channel]) - origin - mean
                    partial += difference * patch[m, n, channel]
                    partial_below += difference * difference
                above += partial
                below += partial_below
        score = float32(0.0)
        # A window of one value has no score.
        if below > LEAST:
            score = above / float32(sqrt(below))
        # 0, or NaN where a sample is NaN or infinite.
        out[row, column, 0] = score + (mean - mean)

    return match_naive


VARIANT = cuda_variant(
    Step(lambda problem, block: kernel(), positions, match_arguments),
    work=work,
    key="match-naive",
    title="Direct sums",
    operation="find-patch",
    idea="One thread per position reads its window twice and the patch once from global memory.",
)
