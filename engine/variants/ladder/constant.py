"""`constant`: as `naive`, but the mask lies in constant memory.

Idea
    Every thread of a warp reads the same weight at the same time: what constant memory and its own small
    cache are made for, one broadcast for all of them. The picture stays in global memory.
Who loads what
    Every thread loads all of its taps itself from global memory, as in `naive`, and its weights from constant
    memory, where the host has copied them before the launch.
What it saves
    Against `naive`: the weight's load from global memory, half of all of its loads.
Limit
    Constant memory has 64 KB. As in CUDA C the array has a fixed size, that of the largest mask, 63 x 63:
    15,876 bytes. An edit of the mask copies new weights there and compiles nothing.

    Numba's own `cuda.const.array_like` is another thing: it makes the weights a part of the compiled kernel,
    so that each edit compiles anew, and turns those of small masks into operands of the instructions
    (docs/variants/ladder.md).

Sources: CENG443, "Constant Memory", "Constant Memory Usage"; Drexel ECEC-622, assignment 3, `kernel_c`, which
is filled by `cudaMemcpyToSymbol`.
"""

from functools import partial
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import WEIGHTS, registers_for
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE as MAX_MASK_WIDTH
from engine.mask.mask import MAX_SIDE
from engine.variants.ladder.teaching import one_pass_variant, row_variant, work_by_taps

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, cuda_rule, float32, jit_with_constant
    from engine.variants.emit.cuda_code import constant_weights


MAX_MASK_CELLS = MAX_SIDE * MAX_SIDE


@kernel_factory
def kernel(border: Border):
    """Return the kernel for a border; any size of picture and mask."""
    rule, in_constant_memory = cuda_rule(border), constant_weights(MAX_MASK_CELLS)

    @jit_with_constant(WEIGHTS, MAX_MASK_CELLS)
    def correlate_constant(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        # __constant__ float M[MAX_MASK_CELLS];
        M = in_constant_memory(weights)
        mask_rows, mask_columns = weights.shape
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        total = float32(0.0)
        for m in range(mask_rows):
            source_row = rule(row + m - anchor_row, height)
            partial = float32(0.0)
            for n in range(mask_columns):
                source_column = rule(column + n - anchor_column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = float32(image[source_row, source_column, channel])
                partial += value * M[m * mask_columns + n]
            total += partial
        out[row, column, channel] = total + offset

    return correlate_constant


VARIANT = one_pass_variant(
    lambda problem, block: kernel(problem.border),
    constant_floats=lambda mask_shape: MAX_MASK_CELLS,
    key="constant",
    title="Constant memory",
    idea="As naive, but the weights come from constant memory, one broadcast for all threads of a warp.",
    work=partial(work_by_taps, constant_weights=True),
    remark="The host copies the weights there before the launch: an edit of the mask compiles nothing. The "
    "array has room for the largest mask, 15,876 bytes of 64 KB.",
)


@kernel_factory
def row_kernel(border: Border, mask_width: int, registers: int | None):
    """`row-constant`: 1-D along the rows of a picture, as `row-naive`, but the mask lies in constant memory.

    Idea
        The mask has one row. Every thread of a warp reads the same weight at the same time: one broadcast
        from the constant cache serves them all.
    Who loads what
        Every thread loads all its cells itself from global memory, as in `row-naive`, and its weights from
        constant memory, where the host has copied them before the launch. A block of TILE_SIZE x 1 threads is
        the lecture's block. One of TILE_SIZE x y is y of them, one above the other.
    What it saves
        Against `row-naive`: the weight's load from global memory, half of all of its loads.
    Limit
        The array has a fixed size, as the lecture's `M[MAX_MASK_WIDTH]` has (10 there): that of the widest
        mask, 127 cells, 508 bytes of 64 KB. Cells are still loaded once for each tap.

    Source: CENG443, "Constant Memory Usage" and the 1-D kernel after it: `__constant__ float
    M[MAX_MASK_WIDTH]`, filled by `cudaMemcpyToSymbol`.
    """
    rule, in_constant_memory = cuda_rule(border), constant_weights(MAX_MASK_WIDTH)
    MASK_WIDTH = mask_width

    @jit_with_constant(WEIGHTS, MAX_MASK_WIDTH, max_registers=registers)
    def correlate_row_constant(image, weights, width, anchor, ghost_value, offset, out):
        # __constant__ float M[MAX_MASK_WIDTH];
        M = in_constant_memory(weights)
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
            total += value * M[j]
        out[row, i, channel] = total + offset

    return correlate_row_constant


ROW = row_variant(
    lambda problem, block: row_kernel(problem.border, problem.mask_shape[1], registers_for(block.threads)),
    wider="constant",
    constant_floats=lambda mask_shape: MAX_MASK_WIDTH,
    story=row_kernel.__doc__,
    key="row-constant",
    title="1-D, constant memory",
    idea="Along the rows, for masks of one row: as row-naive, but the weights come from constant memory.",
    work=partial(work_by_taps, constant_weights=True),
)
