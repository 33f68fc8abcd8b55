"""`naive`: one thread per result, everything in global memory.

Idea
    Thread (row, column) walks over the mask and reads each input cell and each weight from global memory.
Who loads what
    Every thread loads all of its taps itself. Neighbours in a warp read neighbouring cells (coalesced), and
    the same cells are asked for again by the threads around: only L1 and L2 know.
Limit
    One load of a cell and one of a weight for each multiply-add: 2 operations for 8 bytes asked of global
    memory.

Sources: CENG443, "2D Convolution Kernel" (convolution_2D_basic_kernel); Drexel ECEC-622, assignment 3,
ConvolutionKernel. Theirs sum in int and double; here each mask row has a float32 partial sum.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.border import Border
from engine.variants.ladder.teaching import one_pass_variant, work_by_taps

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_result, cuda_rule
    from engine.device.numba_cuda import cuda, float32


@kernel_factory
def kernel(border: Border, result_dtype: str):
    """Return the kernel for a border and a type of result; any size of picture and mask."""
    rule, as_result = cuda_rule(border), cuda_result(result_dtype)

    @cuda.jit
    def correlate_naive(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        total = float32(0.0)
        for m in range(weights.shape[0]):
            source_row = rule(row + m - anchor_row, height)
            partial = float32(0.0)
            for n in range(weights.shape[1]):
                source_column = rule(column + n - anchor_column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = float32(image[source_row, source_column, channel])
                partial += value * weights[m, n]
            total += partial
        out[row, column, channel] = as_result(total + offset)

    return correlate_naive


VARIANT = one_pass_variant(
    lambda problem, block: kernel(problem.border, problem.result_dtype),
    key="naive",
    title="Naive",
    idea="One thread per result; every thread reads all its cells and weights from global memory.",
    work=work_by_taps,
    integer_output=True,
)
