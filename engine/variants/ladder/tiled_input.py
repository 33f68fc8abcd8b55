"""`tiled-input`: the block shares its input tile; the block covers the *input* tile.

Idea
    A block of bx x by threads loads the bx x by cells of one input tile, one per thread. After a barrier only
    its first (bx - columns + 1) x (by - rows + 1) threads compute, a result each: the output tile (O_TILE in
    the lecture).
Who loads what
    Each thread loads one cell, so a result costs bx by / ((bx - columns + 1)(by - rows + 1)) loads: 1.3 for a
    32 x 32 block and a 5 x 5 mask.
What it saves
    Against `naive`: loads of the picture fall from rows x columns to that number. Against `tiled`, the other
    design with the same loads per tile: loading takes no loop, every thread does the same. The weights come
    from global memory in both, so that the two differ in what the block covers and in nothing else.
Limit
    While computing, 1 - (bx - columns + 1)(by - rows + 1) / (bx by) of the threads idle: with 32 x 32 threads
    12 % for a 3 x 3 mask, 23 % for 5 x 5, 68 % for 15 x 15. A block cannot be smaller than the mask, so a
    mask of more cells than a block may have threads cannot be used at all; `tiled` takes it.

Source: CENG443, "Tiled 2D Convolution", "Data Load", "Calculate/Write Output".
"""

from functools import partial
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block, Limits, Refusal
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.variants.ladder.teaching import bytes_of_own_cells, one_pass_variant, work_of_tiles
from engine.variants.tiles.geometry import refuse_launch
from engine.work.filtering.problem import Problem

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_for


def output_tile(mask_shape: tuple[int, int], block: Block) -> Block:
    """Return the results of a block; below 1 where the block is smaller than the mask."""
    return Block(block.x - mask_shape[1] + 1, block.y - mask_shape[0] + 1)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is too large for every block, or the block or the grid illegal; else None."""
    rows, columns = problem.mask_shape
    if problem.taps > limits.max_threads:
        return Refusal(
            "mask-too-large",
            f"A mask of {rows} × {columns} needs a block of {problem.taps:,} threads",
            f"The block covers the input tile, so a mask of {rows} × {columns} needs a block of at least "
            f"{problem.taps:,} threads; the limit is {limits.max_threads:,} per block.",
            "Use tiled, whose threads load several cells each, or a smaller mask.",
        )
    return refuse_launch(
        problem,
        mask,
        block,
        limits,
        partial(bytes_of_own_cells, problem.mask_shape),
        least_x=columns,
        idle_rows=rows - 1,
        too_small=lambda: Refusal(
            "block-too-small",
            f"A block of {block} is smaller than the mask",
            f"A block of {block} is smaller than the mask: for its {rows} × {columns} cells the block, a "
            f"thread for each cell of the input tile, has to be at least {columns} wide and {rows} high.",
        ),
    )


@kernel_factory
def kernel(border: Border, mask_shape: tuple[int, int], block: Block):
    """Return the kernel for a border, a mask shape and a block."""
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


VARIANT = one_pass_variant(
    lambda problem, block: kernel(problem.border, problem.mask_shape, block),
    bytes_of_own_cells,
    tile=output_tile,
    key="tiled-input",
    title="Tiled, block covers the input",
    idea="Each thread loads one cell of the input tile into shared memory; then only the inner ones compute.",
    default_block=Block(32, 32),
    work=lambda problem, block: work_of_tiles(problem, output_tile(problem.mask_shape, block)),
    unsupported=unsupported,
    remark="A block computes (x - mask columns + 1) by (y - mask rows + 1) results; its other threads only "
    "load. Masks with more cells than a block may have threads are refused.",
    block_covers_input=True,
)
