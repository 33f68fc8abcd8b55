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

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: a load, a subtraction and a store for each sample."""
    return operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


@kernel_factory
def kernel(dtype: str):
    """Return the kernel for a type of samples."""
    white = np.float32(1.0) if dtype == "float32" else int(np.iinfo(dtype).max)

    @cuda.jit
    def negate(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        out[row, column, channel] = white - image[row, column, channel]

    return negate


VARIANT = cuda_variant(
    Step(lambda problem, block: kernel(problem.dtype)),
    work=work,
    key="cuda-negative",
    title="Thread per sample",
    operation="negative",
    idea="One thread per sample: a load, a subtraction, a store.",
)
