"""`row-naive`: 1-D along the rows of a picture, one thread per result, everything in global memory.

Idea
    The mask has one row. Thread `i` of a row walks over the mask from cell `i - anchor` on and reads each
    input cell and each weight from global memory.
Who loads what
    Every thread loads all its cells itself: neighbours load the same ones again, and only L1 and L2 help. A
    block of TILE_SIZE x 1 threads is the lecture's block. One of TILE_SIZE x y is y of them, one above the
    other.
What it saves
    Against `naive`: the loop over the mask's rows. It is the baseline of the other two.
Limit
    One load of a cell and one of a weight for each multiply-add. Where 8 threads share 12 cells they load 40.

Source: CENG443, "1D Convolution Kernel" (convolution_1D_basic_kernel). There the picture is one row, ghost
cells are left out of the sum, and the anchor is the middle of the mask.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import registers_for
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.variants.ladder.teaching import row_variant, work_by_taps
from engine.work.filtering.problem import Problem

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_within


@kernel_factory
def kernel(border: Border, mask_width: int, registers: int | None):
    """Return the kernel for a border, a mask width and at most so many registers per thread."""
    rule, MASK_WIDTH = cuda_rule(border), mask_width

    @jit_within(registers)
    def correlate_row_naive(image, weights, width, anchor, ghost_value, offset, out):
        i, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or i >= width:
            return
        start_point = i - anchor
        total = float32(0.0)
        for j in range(MASK_WIDTH):
            source = rule(start_point + j, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            total += value * weights[j]
        out[row, i, channel] = total + offset

    return correlate_row_naive


def kernel_of(problem: Problem, block: Block):
    """Return the kernel for a problem and a block."""
    return kernel(problem.border, problem.mask_shape[1], registers_for(block.threads))


VARIANT = row_variant(
    kernel_of,
    wider="naive",
    key="row-naive",
    title="1-D, naive",
    idea="Along the rows, for masks of one row: one thread per result, all its cells from global memory.",
    work=work_by_taps,
)
