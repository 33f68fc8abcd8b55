"""`separable-l0`: a column times a row, applied one after the other from global memory.

Idea
    If the mask is one column times one row, the picture is filtered along its rows with the row, and what
    comes out along its columns with the column: two passes, two kernels, float32 values in global memory
    between them.
Who loads what
    Each thread of a pass loads all taps along its own line from global memory, as in `naive`.
What it saves
    Against `naive`: rows + columns instead of rows x columns multiply-adds and loads per result (31 x 31: 62
    instead of 961). The price is one more store and load of the whole picture between the passes.
Limit
    Only masks of rank 1. Neighbouring threads ask for the same cells again, all from global memory.

Source: G. R. Roberts, "CUDA: Convolution", lab report, section 3.1, L0. Its borders are zero only.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import registers_for
from engine.device.unrolled import unrolled
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.variants.ladder.two_passes import two_pass_variant
from engine.variants.tiles.separable import line_of_taps, loads_along, two_pass_work
from engine.work.filtering.problem import Problem

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_within


@kernel_factory
def horizontal_kernel(border: Border, columns: int, registers: int | None):
    """Return the kernel along the rows for a border, a number of weights and at most so many registers."""
    rule = cuda_rule(border)
    COLUMNS = columns

    @jit_within(registers)
    @unrolled
    def separable_l0_horizontal(image, factor, width, anchor, ghost_value, scratch):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        total = float32(0.0)
        for n in range(COLUMNS):
            source = rule(column + n - anchor, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            total += value * factor[n]
        scratch[row, column, channel] = total

    return separable_l0_horizontal


@kernel_factory
def vertical_kernel(border: Border, rows: int, registers: int | None):
    """Return the kernel along the columns for a border, a number of weights and at most so many registers."""
    rule = cuda_rule(border)
    ROWS = rows

    @jit_within(registers)
    @unrolled
    def separable_l0_vertical(scratch, factor, width, anchor, ghost_value, offset, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = scratch.shape[0]
        if row >= height or column >= width:
            return
        total = float32(0.0)
        for m in range(ROWS):
            source = rule(row + m - anchor, height)
            value = ghost_value
            if source >= 0:
                value = scratch[source, column, channel]
            total += value * factor[m]
        out[row, column, channel] = total + offset

    return separable_l0_vertical


def kernels(problem: Problem, block: Block):
    """Return the kernels of the horizontal and of the vertical pass."""
    rows, columns = problem.mask_shape
    border, registers = problem.border, registers_for(block.threads)
    return horizontal_kernel(border, columns, registers), vertical_kernel(border, rows, registers)


VARIANT = two_pass_variant(
    kernels,
    key="separable-l0",
    title="Separable, global memory (L0)",
    idea="Two passes, along the rows and along the columns, for masks that are one column times one row: "
    "rows + columns multiply-adds per result, everything in global memory.",
    work=lambda problem, block: two_pass_work(problem, *loads_along(problem, block, line_of_taps)),
)
