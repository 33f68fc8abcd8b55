"""`cuda-bilateral`: a thread per pixel, all its channels together.

Who loads what
    Each thread loads the cells of its disc in all channels; neighbours ask for nearly the same, which the
    caches serve. The weights of the places lie in global memory, all threads read the same one at once.
Limit
    Arithmetic: an exponential for each cell of the disc.
"""

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.work import Work
from engine.variants.operations.falling_exponential import MOST, falling_polynomial
from engine.variants.operations.grid import Step, cuda_variant, pixels
from engine.work.operations.bilateral import disc_of, operations_of, steepness_of
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_result, cuda_rule
    from engine.device.numba_cuda import cuda, float32, int32


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: the disc in all channels, once more the middle, and a place for each cell."""
    cells = int(np.count_nonzero(disc_of(problem.parameters)))
    # Every thread sums the channels one after another, and forms the weights anew for each.
    loads = problem.channels * (cells * (2 * problem.channels + 1) + 1)
    return operation_work(
        problem,
        picture_loads=loads * problem.pixels,
        other_loads=problem.channels * cells * problem.pixels,
        flops=operations_of(problem) * problem.channels * problem.pixels,
    )


@kernel_factory
def kernel(dtype: str, size: int, channels: int):
    """Return the kernel for a type of samples, a size of disc and a number of channels."""
    rule, result = cuda_rule(Border.REPLICATE), cuda_result(dtype)
    falling = cuda.jit(device=True, inline="always")(falling_polynomial)
    SIZE, HALF, CHANNELS = size, size // 2, channels

    @cuda.jit
    def bilateral(image, width, disc, steepness, out):
        column, row = cuda.grid(2)
        height = image.shape[0]
        if row >= height or column >= width:
            return
        for channel in range(CHANNELS):
            sum_of_weights, sum_of_products = float32(0.0), float32(0.0)
            own = float32(image[row, column, channel])
            for m in range(SIZE):
                at_row = rule(row + m - HALF, height)
                for n in range(SIZE):
                    # By its place and not by its weight: so it is known before anything is loaded.
                    if (m - HALF) * (m - HALF) + (n - HALF) * (n - HALF) <= HALF * HALF:
                        place = disc[m, n]
                        at_column = rule(column + n - HALF, width)
                        square = float32(0.0)
                        for other in range(CHANNELS):
                            apart = float32(image[at_row, at_column, other]) - float32(
                                image[row, column, other]
                            )
                            square += apart * apart
                        t = min(steepness * square, MOST)
                        whole = int32(t)
                        power = falling(t - float32(whole)) * (float32(1.0) / float32(int32(1) << whole))
                        weight = place * power
                        sum_of_weights += weight
                        sum_of_products += weight * (float32(image[at_row, at_column, channel]) - own)
            out[row, column, channel] = result(own + sum_of_products / sum_of_weights)

    return bilateral


VARIANT = cuda_variant(
    Step(
        lambda problem, block: kernel(problem.dtype, problem.whole("size"), problem.channels),
        threads=pixels,
        arguments=lambda problem, patch: (
            problem.width,
            disc_of(problem.parameters).astype(np.float32),
            steepness_of(problem),
        ),
    ),
    work=work,
    key="cuda-bilateral",
    title="Thread per pixel",
    operation="bilateral",
    idea="A thread per pixel: distances, exponentials and sums of its disc, for one channel after another.",
)
