"""`cached`: shared memory holds the block's own cells; the halo is left to L1 and L2.

Idea
    Each thread loads the one input cell at its own position into shared memory. Taps inside the block's cells
    are read from there, taps in the halo from global memory, where a neighbouring block has most likely just
    put them into the cache.
Who loads what
    One load per thread for the tile, no steps and no apron; the threads near the block's edge load their halo
    taps again and again, from the cache.
What it saves
    Against `tiled`: the loading is one line, and shared memory is only as large as the block. The price is a
    branch at every tap, on which the threads of a warp often disagree.
Limit
    The smaller the block and the larger the mask, the more taps are halo: then it is `naive` with a branch.

Sources: CENG443, "Simpler Tiled 1D Convolution" (convolution_1D_tiled_caching_kernel); Drexel ECEC-622,
assignment 3, the optimised kernel (there with the mask in constant memory).
"""

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, cuda_rule, float32, jit_for, jit_with_constant
from engine.device.launches import WEIGHTS, registers_for
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE as MAX_MASK_WIDTH
from engine.variants.emit.cuda_code import constant_weights
from engine.variants.ladder.teaching import bytes_of_own_cells, loads_of_own_cells, one_pass_variant


@kernel_factory
def kernel(border: Border, mask_shape: tuple[int, int], block: Block):
    """Return the kernel for a border, a mask shape and a block."""
    rule = cuda_rule(border)
    MASK_ROWS, MASK_COLUMNS = mask_shape
    BLOCK_X, BLOCK_Y = block.x, block.y

    @jit_for(block.threads)
    def correlate_cached(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        tile = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        inside = row < height and column < width

        # Load the block's own cells, one per thread.
        if inside:
            tile[ty, tx] = float32(image[row, column, channel])
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if inside:
            tile_top, tile_left = row - ty, column - tx
            tile_bottom = min(tile_top + BLOCK_Y, height)
            tile_right = min(tile_left + BLOCK_X, width)
            total = float32(0.0)
            for m in range(MASK_ROWS):
                wanted_row = row + m - anchor_row
                row_in_tile = wanted_row >= tile_top and wanted_row < tile_bottom
                source_row = rule(wanted_row, height)
                partial = float32(0.0)
                for n in range(MASK_COLUMNS):
                    wanted_column = column + n - anchor_column
                    value = ghost_value
                    if row_in_tile and wanted_column >= tile_left and wanted_column < tile_right:
                        value = tile[wanted_row - tile_top, wanted_column - tile_left]
                    else:
                        source_column = rule(wanted_column, width)
                        if source_row >= 0 and source_column >= 0:
                            value = float32(image[source_row, source_column, channel])
                    partial += value * weights[m, n]
                total += partial
            out[row, column, channel] = total + offset

    return correlate_cached


VARIANT = one_pass_variant(
    lambda problem, block: kernel(problem.border, problem.mask_shape, block),
    bytes_of_own_cells,
    key="cached",
    title="Cached halo",
    idea="Shared memory holds only the block's own cells; the halo comes from global memory through caches.",
    loads=loads_of_own_cells,
)


@kernel_factory
def constant_kernel(border: Border, mask_shape: tuple[int, int], block: Block):
    """`cached-constant`: `cached` with the mask in constant memory: the 2-D report's optimised kernel.

    Idea
        Shared memory holds the block's own cells, constant memory the mask; the halo is left to L2. The
        report's KERNEL_SIZE is a macro, so here, too, the mask's sides are known when the kernel is compiled,
        and the compiler can unroll the loops.
    Who loads what
        Each thread loads the one input cell at its own position into shared memory. Taps inside the block's
        cells are read from there, taps in the halo from global memory; weights from constant memory, where
        the host has copied them before the launch.
    What it saves
        Against `cached`: the weight's load from global memory at every tap, and nothing else: both know the
        mask's sides when they are compiled.
    Limit
        That of `cached`: a branch at every tap. A mask of another shape compiles anew; an edit of weights
        does not. The array has 4 bytes for each weight.

    Source: Drexel ECEC-622, assignment 3, ConvolutionKernel_optimized and `kernel_c`.
    """
    MASK_ROWS, MASK_COLUMNS = mask_shape
    BLOCK_X, BLOCK_Y = block.x, block.y
    rule, in_constant_memory = cuda_rule(border), constant_weights(MASK_ROWS * MASK_COLUMNS)

    @jit_with_constant(WEIGHTS, MASK_ROWS * MASK_COLUMNS, max_registers=registers_for(block.threads))
    def correlate_cached_constant(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        # __constant__ float kernel_c[MASK_ROWS * MASK_COLUMNS];
        kernel_c = in_constant_memory(weights)
        tile = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        inside = row < height and column < width

        # Load the block's own cells, one per thread.
        if inside:
            tile[ty, tx] = float32(image[row, column, channel])
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if inside:
            tile_top, tile_left = row - ty, column - tx
            tile_bottom = min(tile_top + BLOCK_Y, height)
            tile_right = min(tile_left + BLOCK_X, width)
            total = float32(0.0)
            for m in range(MASK_ROWS):
                wanted_row = row + m - anchor_row
                row_in_tile = wanted_row >= tile_top and wanted_row < tile_bottom
                source_row = rule(wanted_row, height)
                partial = float32(0.0)
                for n in range(MASK_COLUMNS):
                    wanted_column = column + n - anchor_column
                    value = ghost_value
                    if row_in_tile and wanted_column >= tile_left and wanted_column < tile_right:
                        value = tile[wanted_row - tile_top, wanted_column - tile_left]
                    else:
                        source_column = rule(wanted_column, width)
                        if source_row >= 0 and source_column >= 0:
                            value = float32(image[source_row, source_column, channel])
                    partial += value * kernel_c[m * MASK_COLUMNS + n]
                total += partial
            out[row, column, channel] = total + offset

    return correlate_cached_constant


CONSTANT = one_pass_variant(
    lambda problem, block: constant_kernel(problem.border, problem.mask_shape, block),
    bytes_of_own_cells,
    constant_floats=lambda mask_shape: mask_shape[0] * mask_shape[1],
    key="cached-constant",
    title="Cached halo, constant memory",
    idea="Shared memory holds the block's own cells, constant memory the mask; the halo comes from global "
    "memory through caches.",
    loads=loads_of_own_cells,
)


@kernel_factory
def row_kernel(border: Border, mask_width: int, block: Block):
    """`row-cached`: 1-D along the rows; shared memory holds the block's cells, the halo is left to L1 and L2.

    Idea
        The mask has one row. Each thread of a block of TILE_SIZE loads the one cell at its own position into
        shared memory. Taps between this tile's start and the next one's are read from there, the others from
        global memory, where a neighbouring block has most likely just put them into the cache.
    Who loads what
        One load per thread for the tile. The threads near its ends load their halo taps again and again, from
        the cache. A block of TILE_SIZE x 1 threads is the lecture's block. One of TILE_SIZE x y is y of them,
        one above the other.
    What it saves
        Against `row-tiled`: two of the three load steps, and the rule that a halo may be no wider than the
        tile. The price is a branch at every tap, on which the threads of a warp disagree near the tile's
        ends.
    Limit
        The shorter the tile and the wider the mask, the more taps are halo: then it is `row-naive` with a
        branch.

    Source: CENG443, "Simpler Tiled 1D Convolution" (convolution_1D_tiled_caching_kernel). There the mask lies
    in constant memory (`row-cached-constant`).
    """
    rule = cuda_rule(border)
    TILE_SIZE, TILE_ROWS, MASK_WIDTH = block.x, block.y, mask_width

    @jit_for(block.threads)
    def correlate_row_cached(image, weights, width, anchor, ghost_value, offset, out):
        tile = cuda.shared.array((TILE_ROWS, TILE_SIZE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        i, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        inside = row < image.shape[0] and i < width

        # Load the block's own cells, one per thread.
        if inside:
            tile[ty, tx] = float32(image[row, i, channel])
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if inside:
            this_tile_start_point = i - tx
            next_tile_start_point = min(this_tile_start_point + TILE_SIZE, width)
            start_point = i - anchor
            total = float32(0.0)
            for j in range(MASK_WIDTH):
                wanted = start_point + j
                value = ghost_value
                if wanted >= this_tile_start_point and wanted < next_tile_start_point:
                    value = tile[ty, tx + j - anchor]
                else:
                    source = rule(wanted, width)
                    if source >= 0:
                        value = float32(image[row, source, channel])
                total += value * weights[j]
            out[row, i, channel] = total + offset

    return correlate_row_cached


ROW = one_pass_variant(
    lambda problem, block: row_kernel(problem.border, problem.mask_shape[1], block),
    bytes_of_own_cells,
    wider="cached",
    key="row-cached",
    title="1-D, cached halo",
    idea="Along the rows, for masks of one row: shared memory holds the block's own cells; the halo comes "
    "from global memory through caches.",
    loads=loads_of_own_cells,
)


@kernel_factory
def row_constant_kernel(border: Border, mask_width: int, block: Block):
    """`row-cached-constant`: `row-cached` with the mask in constant memory, as the lecture prints it.

    Idea
        Shared memory holds the block's own cells, constant memory the mask; the halo is left to L1 and L2.
    Who loads what
        One load per thread for the tile. The threads near its ends load their halo taps again and again, from
        the cache. The host has copied the weights before the launch.
    What it saves
        Against `row-cached`: the weight's load from global memory at every tap.
    Limit
        That of `row-cached`: a branch at every tap; the shorter the tile and the wider the mask, the more
        taps are halo.

    Source: CENG443, "Simpler Tiled 1D Convolution" (convolution_1D_tiled_caching_kernel): its M is not a
    parameter, it is `__constant__ float M[MAX_MASK_WIDTH]`.
    """
    rule, in_constant_memory = cuda_rule(border), constant_weights(MAX_MASK_WIDTH)
    TILE_SIZE, TILE_ROWS, MASK_WIDTH = block.x, block.y, mask_width

    @jit_with_constant(WEIGHTS, MAX_MASK_WIDTH, max_registers=registers_for(block.threads))
    def correlate_row_cached_constant(image, weights, width, anchor, ghost_value, offset, out):
        # __constant__ float M[MAX_MASK_WIDTH];
        M = in_constant_memory(weights)
        N_ds = cuda.shared.array((TILE_ROWS, TILE_SIZE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        i, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        inside = row < image.shape[0] and i < width

        # Load the block's own cells, one per thread.
        if inside:
            N_ds[ty, tx] = float32(image[row, i, channel])
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if inside:
            this_tile_start_point = i - tx
            next_tile_start_point = min(this_tile_start_point + TILE_SIZE, width)
            start_point = i - anchor
            total = float32(0.0)
            for j in range(MASK_WIDTH):
                wanted = start_point + j
                value = ghost_value
                if wanted >= this_tile_start_point and wanted < next_tile_start_point:
                    value = N_ds[ty, tx + j - anchor]
                else:
                    source = rule(wanted, width)
                    if source >= 0:
                        value = float32(image[row, source, channel])
                total += value * M[j]
            out[row, i, channel] = total + offset

    return correlate_row_cached_constant


ROW_CONSTANT = one_pass_variant(
    lambda problem, block: row_constant_kernel(problem.border, problem.mask_shape[1], block),
    bytes_of_own_cells,
    wider="cached-constant",
    constant_floats=lambda mask_shape: MAX_MASK_WIDTH,
    key="row-cached-constant",
    title="1-D, cached halo, constant memory",
    idea="Along the rows, for masks of one row: as row-cached, but the weights come from constant memory, as "
    "the lecture prints it.",
    loads=loads_of_own_cells,
)
