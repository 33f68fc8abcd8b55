"""What minimum, maximum and morphology share: lowest and highest on all cores, and a kernel for both."""

from typing import TYPE_CHECKING

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.work import Work
from engine.variants.operations.bands import Bands
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32

BORDER = Border.REPLICATE
_LOWEST, _HIGHEST = (
    MachineFunction("engine.variants.operations.extreme_code", name, error_model="numpy")
    for name in ("lowest", "highest")
)


def cpu_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is loaded once for each row of the window, the rest is in a cache."""
    size = problem.whole("size")
    return operation_work(
        problem, picture_loads=size * problem.samples, flops=cpu_comparisons(size) * problem.samples
    )


def cpu_comparisons(size: int) -> int:
    """Return the comparisons for a sample: of the rows, and two for each pass along the columns."""
    passes, reach = 0, 1
    while reach < size:
        passes, reach = passes + 1, 3 * reach
    return size - 1 + 2 * passes


def cuda_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: the sample itself, its window, and a comparison for each cell."""
    cells = problem.samples * problem.whole("size") ** 2
    return operation_work(problem, picture_loads=problem.samples + cells, flops=cells)


def bands_of(problem: OperationProblem, *, highest: bool) -> Bands:
    """Return the bands of the lowest, or the highest, with two lines for each worker, compiled."""
    size, channels = problem.whole("size"), problem.channels
    length = (problem.width + size - 1) * channels

    def arguments(workers: int) -> tuple[object, ...]:
        return channels, size // 2, np.zeros((workers, 2, length), problem.dtype), problem.is_float

    # In the samples' own type: of 8 bit a vector has four times as many as of float32.
    steps = size * problem.width * channels * np.dtype(problem.dtype).itemsize // 64
    return Bands(problem, _HIGHEST if highest else _LOWEST, max(1, steps), arguments)


@kernel_factory
def extreme_kernel(size: int, highest: bool):
    """Return the kernel that writes the lowest, or the highest, of each window of `source`."""
    rule = cuda_rule(BORDER)
    SIZE, HALF, HIGHEST = size, size // 2, highest

    @cuda.jit
    def extreme(image, source, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        found = float32(source[row, column, channel])
        for m in range(SIZE):
            at_row = rule(row + m - HALF, height)
            for n in range(SIZE):
                cell = float32(source[at_row, rule(column + n - HALF, width), channel])
                # NaN is kept: nothing is lower or higher than it.
                if cell != cell or (cell > found if HIGHEST else cell < found):
                    found = cell
        out[row, column, channel] = found

    return extreme
