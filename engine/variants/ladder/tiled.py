"""`tiled`: the block shares its input tile; the block covers the *output* tile.

Idea
    A block of bx x by threads computes bx x by results. First all its threads together copy the input tile,
    the block's own cells and the halo around them (the apron), into shared memory, in as many steps as it
    takes. After a barrier every tap is read from there.
Who loads what
    Each thread loads about (bx + columns - 1)(by + rows - 1) / (bx by) cells instead of rows x columns of
    them.
What it saves
    Against `naive`: loads of the picture fall by the factor taps / that number (a 16 x 16 block and a 5 x 5
    mask: 1.6 instead of 25). Borders are decided once per loaded cell instead of once per tap.
Limit
    The weights still come from global memory (every thread of a warp reads the same one: one broadcast from
    L1), and each multiply-add still needs a load from shared memory.

Source: CENG443, "Tiled 1D Convolution" (halo loaded by the output block) carried to two dimensions; the
lecture's 2-D tile, where the block covers the input tile, is another design.
"""

from functools import partial

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, cuda_rule, float32, jit_for, jit_with_constant
from engine.device.launches import WEIGHTS, registers_for
from engine.geometry.block import Block, Limits, Refusal
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE as MAX_MASK_WIDTH
from engine.mask.mask import Mask
from engine.variants.emit.cuda_code import constant_weights
from engine.variants.ladder.teaching import bytes_of_own_cells, loads_of_tiles, one_pass_variant
from engine.variants.passes import refuse_launch
from engine.work.problem import Problem


def tile_shape(mask_shape: tuple[int, int], block: Block) -> tuple[int, int]:
    """Return (rows, columns) of the input tile: the output tile and the halo around it."""
    return block.y + mask_shape[0] - 1, block.x + mask_shape[1] - 1


def shared_bytes(mask_shape: tuple[int, int], block: Block) -> int:
    """Return the bytes of the input tile, float32 whatever the picture's type."""
    rows, columns = tile_shape(mask_shape, block)
    return rows * columns * 4


@kernel_factory
def kernel(border: Border, mask_shape: tuple[int, int], block: Block):
    """Return the kernel for a border, a mask shape and a block."""
    rule = cuda_rule(border)
    MASK_ROWS, MASK_COLUMNS = mask_shape
    BLOCK_X, BLOCK_Y = block.x, block.y
    TILE_ROWS, TILE_COLUMNS = tile_shape(mask_shape, block)

    @jit_for(block.threads)
    def correlate_tiled(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        tile = cuda.shared.array((TILE_ROWS, TILE_COLUMNS), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]

        # Load the input tile: every thread takes each BLOCK_X-th column of each BLOCK_Y-th row.
        tile_top = cuda.blockIdx.y * BLOCK_Y - anchor_row
        tile_left = cuda.blockIdx.x * BLOCK_X - anchor_column
        for tile_row in range(ty, TILE_ROWS, BLOCK_Y):
            source_row = rule(tile_top + tile_row, height)
            for tile_column in range(tx, TILE_COLUMNS, BLOCK_X):
                source_column = rule(tile_left + tile_column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = float32(image[source_row, source_column, channel])
                tile[tile_row, tile_column] = value
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if row < height and column < width:
            total = float32(0.0)
            for m in range(MASK_ROWS):
                partial = float32(0.0)
                for n in range(MASK_COLUMNS):
                    partial += tile[ty + m, tx + n] * weights[m, n]
                total += partial
            out[row, column, channel] = total + offset

    return correlate_tiled


VARIANT = one_pass_variant(
    lambda problem, block: kernel(problem.border, problem.mask_shape, block),
    shared_bytes,
    key="tiled",
    title="Tiled, shared memory",
    idea="The block loads its input tile and halo into shared memory once; every tap is read from there.",
    loads=loads_of_tiles,
)


def output_tile(mask_shape: tuple[int, int], block: Block) -> Block:
    """Return the results of a block; below 1 where the block is smaller than the mask."""
    return Block(block.x - mask_shape[1] + 1, block.y - mask_shape[0] + 1)


def refuse_small_block(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is too large for every block, or the block or the grid illegal; else None."""
    (rows, columns), taps = problem.mask_shape, f"{problem.taps:,} threads"
    if problem.taps > limits.max_threads:
        short = f"A mask of {rows} × {columns} needs a block of {taps}"
        covers = f"The block covers the input tile, so a mask of {rows} × {columns} needs a block of at least"
        detail = f"{covers} {taps}; the limit is {limits.max_threads:,} per block."
        remedy = "Use tiled, whose threads load several cells each, or a smaller mask."
        return Refusal("mask-too-large", short, detail, remedy)
    small = f"A block of {block} is smaller than the mask"
    detail = (
        f"{small}: for its {rows} × {columns} cells the block, a thread for each cell of the input tile, has "
        f"to be at least {columns} wide and {rows} high."
    )
    used = partial(bytes_of_own_cells, problem.mask_shape)
    sides = {"least_x": columns, "idle_rows": rows - 1}
    refusal = Refusal("block-too-small", small, detail)
    return refuse_launch(problem, mask, block, limits, used, **sides, too_small=lambda: refusal)


@kernel_factory
def input_kernel(border: Border, mask_shape: tuple[int, int], block: Block):
    """`tiled-input`: the block shares its input tile; the block covers the *input* tile.

    Idea
        A block of bx x by threads loads the bx x by cells of one input tile, one per thread. After a barrier
        only its first (bx - columns + 1) x (by - rows + 1) threads compute, a result each: the output tile
        (O_TILE in the lecture).
    Who loads what
        Each thread loads one cell, so a result costs bx by / ((bx - columns + 1)(by - rows + 1)) loads: 1.3
        for a 32 x 32 block and a 5 x 5 mask.
    What it saves
        Against `naive`: loads of the picture fall from rows x columns to that number. Against `tiled`, the
        other design with the same loads per tile: loading takes no loop, every thread does the same. The
        weights come from global memory in both, so that the two differ in what the block covers and in
        nothing else.
    Limit
        While computing, 1 - (bx - columns + 1)(by - rows + 1) / (bx by) of the threads idle: with 32 x 32
        threads 12 % for a 3 x 3 mask, 23 % for 5 x 5, 68 % for 15 x 15. A block cannot be smaller than the
        mask, so a mask of more cells than a block may have threads cannot be used at all; `tiled` takes it.

    Source: CENG443, "Tiled 2D Convolution", "Data Load", "Calculate/Write Output".
    """
    rule = cuda_rule(border)
    MASK_ROWS, MASK_COLUMNS = mask_shape
    BLOCK_X, BLOCK_Y = block.x, block.y
    o_tile = output_tile(mask_shape, block)
    O_TILE_ROWS, O_TILE_COLUMNS = o_tile.y, o_tile.x

    @jit_for(block.threads)
    def correlate_tiled_input(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        tile = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        # Blocks lie as far apart as their results reach; their input tiles overlap.
        row = cuda.blockIdx.y * O_TILE_ROWS + ty
        column = cuda.blockIdx.x * O_TILE_COLUMNS + tx
        channel = cuda.blockIdx.z
        height = image.shape[0]

        # Load the input tile, one cell per thread.
        source_row = rule(row - anchor_row, height)
        source_column = rule(column - anchor_column, width)
        value = ghost_value
        if source_row >= 0 and source_column >= 0:
            value = float32(image[source_row, source_column, channel])
        tile[ty, tx] = value
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        # Only the first threads of each side have all their taps in the tile.
        if ty < O_TILE_ROWS and tx < O_TILE_COLUMNS and row < height and column < width:
            total = float32(0.0)
            for m in range(MASK_ROWS):
                partial = float32(0.0)
                for n in range(MASK_COLUMNS):
                    partial += tile[ty + m, tx + n] * weights[m, n]
                total += partial
            out[row, column, channel] = total + offset

    return correlate_tiled_input


INPUT = one_pass_variant(
    lambda problem, block: input_kernel(problem.border, problem.mask_shape, block),
    bytes_of_own_cells,
    tile=output_tile,
    key="tiled-input",
    title="Tiled, block covers the input",
    idea="Each thread loads one cell of the input tile into shared memory; then only the inner ones compute.",
    default_block=Block(32, 32),
    loads=lambda problem, block: loads_of_tiles(problem, output_tile(problem.mask_shape, block)),
    unsupported=refuse_small_block,
    remark="A block computes (x - mask columns + 1) by (y - mask rows + 1) results; its other threads only "
    "load. Masks with more cells than a block may have threads are refused.",
    block_covers_input=True,
)


def row_bytes(mask_shape: tuple[int, int], block: Block) -> int:
    """Return the bytes of a block's input tile, a row with both halos per row of threads; float32 always."""
    return block.y * (block.x + mask_shape[1] - 1) * 4


def refuse_wide_halo(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the block is illegal, or narrower than a halo, of which each thread loads one cell."""
    wider = max(mask.anchor[1], mask.columns - 1 - mask.anchor[1])
    short = f"A block of {block} is narrower than the halo"
    detail = (
        f"The halo of this mask is {wider} cells wide and a block of {block} has {block.x} threads across; "
        "each loads one cell of it."
    )
    used, refusal = partial(row_bytes, mask.shape), Refusal("block-too-small", short, detail)
    return refuse_launch(problem, mask, block, limits, used, least_x=wider, too_small=lambda: refusal)


@kernel_factory
def row_kernel(border: Border, mask_width: int, block: Block):
    """`row-tiled`: 1-D along the rows; the block shares its cells and the halo left and right of them.

    Idea
        The mask has one row. A block of TILE_SIZE threads computes TILE_SIZE results, and first copies the
        TILE_SIZE + mask - 1 cells that they need into shared memory, in the lecture's three steps.
    Who loads what
        1. left halo: the last `anchor` threads, each the cell that lies TILE_SIZE to the left of its own;
        2. centre: every thread its own cell;
        3. right halo: the first `mask - 1 - anchor` threads, each the cell that lies TILE_SIZE to the right
           of its own. A block of TILE_SIZE x 1 threads is the lecture's block. One of TILE_SIZE x y is y of
           them, one above the other, each with its own row of shared memory.
    What it saves
        Against `row-naive`: TILE_SIZE + mask - 1 loads instead of TILE_SIZE x mask. Tile 8, mask 5: 12
        instead of 40, 3.3 times less. Borders are decided once per loaded cell instead of once per tap.
    Limit
        A thread loads at most one cell of each halo, so neither may be wider than TILE_SIZE. The weights
        still come from global memory, and each multiply-add still needs a load from shared memory.

    Source: CENG443, "Tiled 1D Convolution Kernel" (convolution_1D_tiled_kernel). There both halos have
    Mask_Width / 2 cells, and the mask lies in constant memory (`row-tiled-constant`); the left halo is the
    anchor's column here.
    """
    rule = cuda_rule(border)
    MASK_WIDTH, TILE_SIZE = mask_width, block.x
    TILE_ROWS, TILE_COLUMNS = block.y, block.x + mask_width - 1

    @jit_for(block.threads)
    def correlate_row_tiled(image, weights, width, anchor, ghost_value, offset, out):
        tile = cuda.shared.array((TILE_ROWS, TILE_COLUMNS), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        i, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        left_halo = anchor
        right_halo = MASK_WIDTH - 1 - anchor
        # The last block down may have threads below the picture: they have nothing to load, and wait at the
        # barrier.
        has_row = row < image.shape[0]

        # Load left halo cells, by the last threads.
        if has_row and tx >= TILE_SIZE - left_halo:
            source = rule(i - TILE_SIZE, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            tile[ty, tx - (TILE_SIZE - left_halo)] = value

        # Load centre cells, one per thread.
        if has_row:
            source = rule(i, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            tile[ty, left_halo + tx] = value

        # Load right halo cells, by the first threads.
        if has_row and tx < right_halo:
            source = rule(i + TILE_SIZE, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            tile[ty, left_halo + TILE_SIZE + tx] = value

        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if has_row and i < width:
            total = float32(0.0)
            for j in range(MASK_WIDTH):
                total += tile[ty, tx + j] * weights[j]
            out[row, i, channel] = total + offset

    return correlate_row_tiled


ROW = one_pass_variant(
    lambda problem, block: row_kernel(problem.border, problem.mask_shape[1], block),
    row_bytes,
    wider="tiled",
    key="row-tiled",
    title="1-D, tiled",
    idea="Along the rows, for masks of one row: the last threads load the left halo, all the centre, the "
    "first the right halo; every tap is read from shared memory.",
    # Each row of threads has a tile of its own.
    loads=lambda problem, block: loads_of_tiles(problem, Block(block.x, 1)),
    unsupported=refuse_wide_halo,
)


@kernel_factory
def row_constant_kernel(border: Border, mask_width: int, block: Block):
    """`row-tiled-constant`: `row-tiled` with the mask in constant memory, as the lecture prints it.

    Idea
        The block's cells and both halos lie in shared memory, the mask lies in constant memory: a
        multiply-add reads nothing from global memory.
    Who loads what
        The three steps of `row-tiled`: the last `anchor` threads load the left halo, all the centre, the
        first `mask - 1 - anchor` threads the right halo. The host has copied the weights before the launch.
    What it saves
        Against `row-tiled`: the weight's load from global memory at every tap. Tile 8, mask 5: 12 loads for
        40 multiply-adds. Nothing else differs: both know the mask's width when they are compiled.
    Limit
        Neither halo may be wider than TILE_SIZE. Each multiply-add still needs a load from shared memory.

    Source: CENG443, "Tiled 1D Convolution Kernel" (convolution_1D_tiled_kernel): its M is not a parameter, it
    is `__constant__ float M[MAX_MASK_WIDTH]`. There both halos have Mask_Width / 2 cells, the width is known
    at run time only, and N_ds has room for the widest mask.
    """
    rule, in_constant_memory = cuda_rule(border), constant_weights(MAX_MASK_WIDTH)
    MASK_WIDTH, TILE_SIZE = mask_width, block.x
    TILE_ROWS, TILE_COLUMNS = block.y, block.x + mask_width - 1

    @jit_with_constant(WEIGHTS, MAX_MASK_WIDTH, max_registers=registers_for(block.threads))
    def correlate_row_tiled_constant(image, weights, width, anchor, ghost_value, offset, out):
        # __constant__ float M[MAX_MASK_WIDTH];
        M = in_constant_memory(weights)
        N_ds = cuda.shared.array((TILE_ROWS, TILE_COLUMNS), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        i, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        left_halo = anchor
        right_halo = MASK_WIDTH - 1 - anchor
        # The last block down may have threads below the picture: they have nothing to load, and wait at the
        # barrier.
        has_row = row < image.shape[0]

        # Load left halo cells, by the last threads.
        if has_row and tx >= TILE_SIZE - left_halo:
            source = rule(i - TILE_SIZE, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            N_ds[ty, tx - (TILE_SIZE - left_halo)] = value

        # Load centre cells, one per thread.
        if has_row:
            source = rule(i, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            N_ds[ty, left_halo + tx] = value

        # Load right halo cells, by the first threads.
        if has_row and tx < right_halo:
            source = rule(i + TILE_SIZE, width)
            value = ghost_value
            if source >= 0:
                value = float32(image[row, source, channel])
            N_ds[ty, left_halo + TILE_SIZE + tx] = value

        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if has_row and i < width:
            total = float32(0.0)
            for j in range(MASK_WIDTH):
                total += N_ds[ty, tx + j] * M[j]
            out[row, i, channel] = total + offset

    return correlate_row_tiled_constant


ROW_CONSTANT = one_pass_variant(
    lambda problem, block: row_constant_kernel(problem.border, problem.mask_shape[1], block),
    row_bytes,
    wider="tiled",
    constant_floats=lambda mask_shape: MAX_MASK_WIDTH,
    key="row-tiled-constant",
    title="1-D, tiled, constant memory",
    idea="Along the rows, for masks of one row: as row-tiled, but the weights come from constant memory, as "
    "the lecture prints it.",
    # Each row of threads has a tile of its own.
    loads=lambda problem, block: loads_of_tiles(problem, Block(block.x, 1)),
    unsupported=refuse_wide_halo,
)
