"""`histogram-global`: a thread per sample, one histogram in global memory, atomics.

Idea
    Thread (row, column) of layer `channel` adds 1 to the bin of its sample by an atomic: reading, adding and
    writing as one step that no other thread comes between.
Who loads what
    Each thread loads one sample. All threads of the device share the bins: those that have the same bin at
    the same time take turns, in L2, where atomics on global memory are done.
Limit
    A picture of few values (a sky, a drawing) sends all threads to a few bins, one after the other.

Source: COSC 407, "CUDA Memories and Performance Revisited", histogram operations.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant
from engine.variants.operations.histogram_counts import clearing, cuda_bin
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is loaded, and its atomic loads and stores a count; NaN has none."""
    return operation_work(
        problem,
        picture_loads=problem.samples,
        flops=problem.samples,
        result_loads=problem.samples,
        stores=problem.values + problem.samples,
    )


@kernel_factory
def kernel(dtype: str, bins: int):
    """Return the counting kernel for a type of samples and a number of bins."""
    bin_of = cuda_bin(dtype, bins)

    @cuda.jit
    def count_in_global_memory(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        index = bin_of(image[row, column, channel])
        if index >= 0:
            cuda.atomic.add(out, (channel, index, 0), 1)

    return count_in_global_memory


VARIANT = cuda_variant(
    clearing(),
    Step(lambda problem, block: kernel(problem.dtype, problem.whole("bins"))),
    work=work,
    key="histogram-global",
    title="Global atomics",
    operation="histogram",
    idea="A thread per sample adds 1 to its bin in global memory; threads with the same bin take turns.",
)
