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

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import (
    cuda,
    cuda_result,
    cuda_rule,
    float32,
    float64,
    jit_with_constant,
    jit_within,
)
from engine.device.launches import WEIGHTS, Launch, registers_for
from engine.geometry import block as blocks
from engine.geometry.block import Block, Limits, Refusal, blocks_along
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE as MAX_MASK_WIDTH
from engine.mask.mask import MAX_SIDE, Mask
from engine.variants.emit.cuda_code import constant_weights
from engine.variants.ladder.teaching import one_pass_variant
from engine.work.filtering.sum_order import SumOrder
from engine.work.problem import Problem


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
    integer_output=True,
)


def uncoalesced_plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch, one thread per result: x runs along rows, y along columns."""
    grid = (blocks_along(problem.height, block.x), blocks_along(problem.width, block.y), problem.channels)
    tile = Block(block.y, block.x)
    return (Launch(grid, (block.x, block.y, 1), tile=tile, results=problem.samples),)


def refuse_uncoalesced(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why a block or its grid is illegal, with the nearest legal block, or None."""
    width, along = problem.width, "along y, which counts columns in this kernel"
    return blocks.refuse_block(
        block,
        limits,
        least=Block(1, blocks_along(width, blocks.MAX_GRID_Y)),
        too_small=lambda: blocks.grid_too_high(width, "columns", blocks_along(width, block.y), block, along),
    )


@kernel_factory
def uncoalesced_kernel(border: Border):
    """`naive-uncoalesced`: `naive` as the 2-D report prints it: a warp goes down a column, sums are float64.

    Idea
        The report takes the row from threadIdx.x and the column from threadIdx.y. Neighbours in a warp then
        lie one above the other: in a block of 32 x 32 a warp covers 32 rows of one column, in one of 8 x 8 it
        covers 8 rows of four.
    Who loads what
        Every thread loads all of its taps itself, as in `naive`. But there a warp reads 32 neighbours, which
        one transaction of 128 bytes serves. Here it reads from as many rows as its block is wide, so it takes
        up to 32 transactions, of 32 bytes or more for 4 that are used. Stores are the same. Only the caches
        help: the next columns of these rows are wanted soon.
    What it saves
        Nothing: it is `naive` with two mistakes. The second one is the sum in double, as the report declares
        it: each product is converted, and added at the rate of float64 (1/2 of float32 on an H200, 1/64 on
        the graphics cards that students have).
    Limit
        The larger the block, up to 32 along x, the more rows a warp reads from: in the report, too, larger
        blocks are slower. Its speed-up "by a factor of about 3.5" is over this kernel.

    Source: Drexel ECEC-622, assignment 3, ConvolutionKernel. There ghost cells are left out of the loops'
    ends, which is the zero border; here the border's rule decides.
    """
    rule = cuda_rule(border)

    @cuda.jit
    def correlate_uncoalesced(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        # int i = blockIdx.x * blockDim.x + threadIdx.x, the row.
        row, column = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        total = float64(0.0)
        for m in range(weights.shape[0]):
            source_row = rule(row + m - anchor_row, height)
            for n in range(weights.shape[1]):
                source_column = rule(column + n - anchor_column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = float32(image[source_row, source_column, channel])
                # As in C: a product of two floats is a float, and is converted to be added.
                total += float64(value * weights[m, n])
        out[row, column, channel] = float32(total) + offset

    return correlate_uncoalesced


UNCOALESCED = one_pass_variant(
    lambda problem, block: uncoalesced_kernel(problem.border),
    plan=uncoalesced_plan,
    unsupported=refuse_uncoalesced,
    default_block=Block(16, 16),
    key="naive-uncoalesced",
    title="Naive, uncoalesced",
    idea="As naive, but the threads of a warp go down a column, each in another row, and sums are float64.",
    sum_order=lambda problem, mask: SumOrder(
        "One sum of all products, row after row from left to right, then the offset.",
        part=mask.taps,
        is_double=True,
    ),
    float64_sums=True,
    remark="Deliberately slow (uncoalesced loads). The 2-D report's baseline.",
)


@kernel_factory
def row_kernel(border: Border, mask_width: int, registers: int | None):
    """`row-naive`: 1-D along the rows of a picture, one thread per result, everything in global memory.

    Idea
        The mask has one row. Thread `i` of a row walks over the mask from cell `i - anchor` on and reads each
        input cell and each weight from global memory.
    Who loads what
        Every thread loads all its cells itself: neighbours load the same ones again, and only L1 and L2 help.
        A block of TILE_SIZE x 1 threads is the lecture's block. One of TILE_SIZE x y is y of them, one above
        the other.
    What it saves
        Against `naive`: the loop over the mask's rows. It is the baseline of the other two.
    Limit
        One load of a cell and one of a weight for each multiply-add. Where 8 threads share 12 cells they load
        40.

    Source: CENG443, "1D Convolution Kernel" (convolution_1D_basic_kernel). There the picture is one row,
    ghost cells are left out of the sum, and the anchor is the middle of the mask.
    """
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


ROW = one_pass_variant(
    lambda problem, block: row_kernel(problem.border, problem.mask_shape[1], registers_for(block.threads)),
    wider="naive",
    key="row-naive",
    title="1-D, naive",
    idea="Along the rows, for masks of one row: one thread per result, all its cells from global memory.",
)


MAX_MASK_CELLS = MAX_SIDE * MAX_SIDE


@kernel_factory
def constant_kernel(border: Border):
    """`constant`: as `naive`, but the mask lies in constant memory.

    Idea
        Every thread of a warp reads the same weight at the same time: what constant memory and its own small
        cache are made for, one broadcast for all of them. The picture stays in global memory.
    Who loads what
        Every thread loads all of its taps itself from global memory, as in `naive`, and its weights from
        constant memory, where the host has copied them before the launch.
    What it saves
        Against `naive`: the weight's load from global memory, half of all of its loads.
    Limit
        Constant memory has 64 KB. As in CUDA C the array has a fixed size, that of the largest mask, 63 x 63:
        15,876 bytes. An edit of the mask copies new weights there and compiles nothing.

        Numba's own `cuda.const.array_like` is another thing: it makes the weights a part of the compiled
        kernel, so that each edit compiles anew, and turns those of small masks into operands of the
        instructions (docs/variants/ladder.md).

    Sources: CENG443, "Constant Memory", "Constant Memory Usage"; Drexel ECEC-622, assignment 3, `kernel_c`,
    which is filled by `cudaMemcpyToSymbol`.
    """
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


CONSTANT = one_pass_variant(
    lambda problem, block: constant_kernel(problem.border),
    constant_floats=lambda mask_shape: MAX_MASK_CELLS,
    key="constant",
    title="Constant memory",
    idea="As naive, but the weights come from constant memory, one broadcast for all threads of a warp.",
    remark="The host copies the weights there before the launch: an edit of the mask compiles nothing. The "
    "array has room for the largest mask, 15,876 bytes of 64 KB.",
)


@kernel_factory
def row_constant_kernel(border: Border, mask_width: int, registers: int | None):
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


ROW_CONSTANT = one_pass_variant(
    lambda problem, block: row_constant_kernel(
        problem.border, problem.mask_shape[1], registers_for(block.threads)
    ),
    wider="constant",
    constant_floats=lambda mask_shape: MAX_MASK_WIDTH,
    key="row-constant",
    title="1-D, constant memory",
    idea="Along the rows, for masks of one row: as row-naive, but the weights come from constant memory.",
)
