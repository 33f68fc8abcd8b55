"""`median-local`: a thread sorts its window in an array of its own, which lies in local memory.

Idea
    A thread copies its 9 or 25 cells to an array and sorts it by insertion until the middle is known. Which
    cells it moves depends on the samples, so that an index is known at run time only; registers have no
    index. The compiler puts such an array into local memory: a part of the device's memory that is the
    thread's alone, kept in L1 and L2 as other memory is.
Who loads what
    Each thread loads each of its cells from global memory once, and then loads and stores its array: up to
    n (n - 1) / 2 moves of n cells.
What it saves
    Against `median-naive`: n loads instead of n squared from the picture. What it costs is local memory: the
    name says whose it is, not where it lies.
Limit
    Threads of a warp take different numbers of steps and wait for the longest. `median-tiled` sorts by a
    network instead, whose indices are all known when it is compiled, so that it needs registers alone.

Source: COSC 407, "CUDA Memories and Performance Revisited", "Typical Structure of a CUDA Program": "auto
variables transparently assigned: primitives -> registers. Arrays -> local mem".
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant
from engine.work.operations.median import BORDER
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: n loads of a sample's window, and at most n (n - 1) / 2 comparisons of its cells.

    Loads and stores of local memory are not in it: how many there are depends on the samples.
    """
    cells = problem.whole("size") ** 2
    return operation_work(
        problem,
        picture_loads=problem.samples * cells,
        flops=problem.samples * cells * (cells - 1) // 2,
    )


@kernel_factory
def kernel(size: int):
    """Return the kernel for a size of window; any type of samples."""
    rule = cuda_rule(BORDER)
    SIZE, HALF, CELLS = size, size // 2, size * size

    @cuda.jit
    def median_local(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        window = cuda.local.array(CELLS, float32)
        strange = float32(0.0)
        for number in range(CELLS):
            m = number // SIZE
            at_row = rule(row + m - HALF, height)
            cell = float32(image[at_row, rule(column + number - m * SIZE - HALF, width), channel])
            if cell != cell:
                strange = cell
            # Insertion: larger cells move up until there is room.
            slot = number
            while slot > 0 and window[slot - 1] > cell:
                window[slot] = window[slot - 1]
                slot -= 1
            window[slot] = cell
        median = window[CELLS // 2]
        # A window with NaN has no middle.
        if strange != strange:
            median = strange
        out[row, column, channel] = median

    return median_local


VARIANT = cuda_variant(
    Step(lambda problem, block: kernel(problem.whole("size"))),
    work=work,
    key="median-local",
    title="Sorting, local",
    operation="median",
    idea="A thread sorts its window in an array with indices known at run time only: the compiler puts it "
    "into local memory.",
    uses_local_memory=True,
)
