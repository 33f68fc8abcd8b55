"""Negative: every sample becomes its distance from white."""

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, Step, cuda_variant
from engine.work.operations.contract import OfCells, Operation, Range, operation_work, pixel_alone, rounded
from engine.work.problem import OperationProblem

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: a load, a subtraction and a store for each sample."""
    return operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


def _of_cells(cells: Range, problem: OperationProblem) -> Range:
    """Return white less the sample: one rounding for float32; whole numbers are exact."""
    value, high, low, _ = cells.each(lambda part: problem.full_scale - part[..., 0, 0])
    return rounded(value, low, high, 2.0) if problem.is_float else Range(value, low, high)


@CpuCode
def cpu_code():
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


CPU = cpu_code.variant(
    lambda problem, patch: cpu_code.bands(
        problem, problem.width * problem.channels, (white_of(problem.dtype),)
    ),
    key="cpu-negative",
    idea="White less each sample, in vectors, on all cores.",
    work=work,
)


@kernel_factory
def kernel(dtype: str):
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


CUDA = cuda_variant(
    Step(lambda problem, block: kernel(problem.dtype)),
    work=work,
    key="cuda-negative",
    idea="One thread per sample: a load, a subtraction, a store.",
)

NEGATIVE = Operation(
    key="negative",
    title="Negative",
    teaches="White less the sample: the simplest thing that a thread per sample can do, and limited by "
    "memory alone.",
    window=pixel_alone,
    of_cells=OfCells(_of_cells),
    proof="8 and 16 bit: equal; float32: one rounding.",
    variants=(CPU, CUDA),
)
