"""`dct-direct`: a thread per coefficient, each a sum of 64 products, from global memory.

Idea
    The first launch: thread (row, column) is coefficient (row mod 8, column mod 8) of its 8 x 8 pixels. It
    adds up all 64 samples times two cosines, divides by the step and rounds. The second launch adds up all 64
    coefficients for each sample in the same way.
Who loads what
    Every thread loads 64 samples (or coefficients) and, for each, its cosine; the cosines of rows 8 times.
    The 64 threads of a block of pixels load the same samples.
Limit
    128 multiply-adds for each sample and back; the coefficients go through global memory between the
    launches.

Source: COSC 407, "CUDA Memories and Performance Revisited", image compression; ITU-T T.81, A.3.3, the
definition of the transform.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.dct_tables import WHOLE, coefficients, dct_arguments, samples_of
from engine.variants.operations.grid import Step, cuda_variant
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: 64 samples and 72 cosines each way; a step for the way there, 64 for the way back."""
    samples = samples_of(problem)
    return operation_work(
        problem,
        picture_loads=64 * samples,
        result_loads=64 * samples,
        other_loads=(72 + 1 + 72 + 64) * samples,
        flops=2 * 2 * 72 * samples,
    )


@kernel_factory
def kernel():
    """Return the kernel of the way there; any type of samples."""
    whole = WHOLE

    @cuda.jit
    def to_coefficients(image, cosines, steps, middle, width, columns, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        half = out.shape[0] // 2
        if row >= half or column >= columns:
            return
        i, j = row % 8, column % 8
        top, left = row - i, column - j
        total = float32(0.0)
        for x in range(8):
            source = min(top + x, image.shape[0] - 1)
            partial = float32(0.0)
            for y in range(8):
                sample = float32(image[source, min(left + y, width - 1), channel]) - middle
                partial += sample * cosines[j, y]
            total += partial * cosines[i, x]
        # In float32 the sum with `whole` has no fraction left.
        out[row, column, channel] = (total / steps[i, j] + whole) - whole

    return to_coefficients


@kernel_factory
def back_kernel():
    """Return the kernel of the way back."""

    @cuda.jit
    def to_samples(image, cosines, steps, middle, width, columns, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        half = out.shape[0] // 2
        if row >= half or column >= columns:
            return
        x, y = row % 8, column % 8
        top, left = row - x, column - y
        total = float32(0.0)
        for i in range(8):
            partial = float32(0.0)
            for j in range(8):
                partial += out[top + i, left + j, channel] * steps[i, j] * cosines[j, y]
            total += partial * cosines[i, x]
        out[half + row, column, channel] = total + middle

    return to_samples


VARIANT = cuda_variant(
    Step(lambda problem, block: kernel(), coefficients, dct_arguments),
    Step(lambda problem, block: back_kernel(), coefficients, dct_arguments),
    work=work,
    key="dct-direct",
    title="Direct sums",
    operation="compress",
    idea="A thread per coefficient adds up 64 samples times cosines; a second launch goes back.",
)
