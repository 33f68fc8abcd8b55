"""`cuda-threshold`: a thread per sample.

Idea
    Thread (row, column) of layer `channel` writes white or black: a selection, no branch.
Who loads what
    As `cuda-negative`: one load and one store for each thread.
Limit
    Memory.
"""

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant
from engine.work.operations.problem import OperationProblem
from engine.work.operations.threshold import level_of
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: a load, a comparison and a store for each sample."""
    return operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


@kernel_factory
def kernel(dtype: str):
    """Return the kernel for a type of samples."""
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


VARIANT = cuda_variant(
    Step(
        lambda problem, block: kernel(problem.dtype),
        arguments=lambda problem, patch: (problem.width, level_of(problem)),
    ),
    work=work,
    key="cuda-threshold",
    title="Thread per sample",
    operation="threshold",
    idea="One thread per sample: a load, a comparison, a store.",
)
