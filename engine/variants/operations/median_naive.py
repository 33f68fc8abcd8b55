"""`median-naive`: a thread per sample that counts, for each cell of its window, how many are below it.

Idea
    The middle of n cells is the one that has at most n / 2 cells below it and, with those equal to it, more
    than n / 2. A thread tries every cell of its window: no sorting and no array, which would lie in local
    memory.
Who loads what
    Each thread loads its n cells, for each of them all n again, and all once more for NaN, from global
    memory: 99 loads for 3 x 3, 675 for 5 x 5. Neighbours ask for the same cells; only L1 and L2 know.
Limit
    n squared loads and comparisons.

Source: COSC 407, "CUDA Memories and Performance Revisited", noise reduction.
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
    """Return the work: 2 n + n squared loads and n squared comparisons for each sample."""
    cells = problem.whole("size") ** 2
    return operation_work(
        problem,
        picture_loads=problem.samples * cells * (cells + 2),
        flops=problem.samples * cells * cells,
    )


@kernel_factory
def kernel(size: int):
    """Return the kernel for a size of window; any type of samples."""
    rule = cuda_rule(BORDER)
    SIZE, HALF, MIDDLE = size, size // 2, size * size // 2

    @cuda.jit
    def median_naive(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        median = float32(0.0)
        for m in range(SIZE):
            for n in range(SIZE):
                at_row, at_column = rule(row + m - HALF, height), rule(column + n - HALF, width)
                cell = float32(image[at_row, at_column, channel])
                below = equal = 0
                for i in range(SIZE):
                    other_row = rule(row + i - HALF, height)
                    for j in range(SIZE):
                        other = float32(image[other_row, rule(column + j - HALF, width), channel])
                        if other < cell:
                            below += 1
                        if other == cell:
                            equal += 1
                if below <= MIDDLE and below + equal > MIDDLE:
                    median = cell
        # A window with NaN has no middle: NaN equals nothing, itself neither.
        for m in range(SIZE):
            at_row = rule(row + m - HALF, height)
            for n in range(SIZE):
                cell = float32(image[at_row, rule(column + n - HALF, width), channel])
                if cell != cell:
                    median = cell
        out[row, column, channel] = median

    return median_naive


VARIANT = cuda_variant(
    Step(lambda problem, block: kernel(problem.whole("size"))),
    work=work,
    key="median-naive",
    title="Counting",
    operation="median",
    idea="A thread per sample counts for each cell of its window how many are below it: no array, n² loads.",
)
