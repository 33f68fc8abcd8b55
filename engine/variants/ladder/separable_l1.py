"""`separable-l1`: two passes; each block loads its own cells and their aprons into shared memory together.

Idea
    As `separable-l0`, but in each pass the block first copies what it needs into shared memory. Each pass
    reaches along one axis only, so its apron is one-dimensional: left and right of the block, then above and
    below it.
Who loads what
    Each thread loads the cell at its own position, and the cells one level before and after it that belong to
    the apron: the thread's index moved by a whole block, as often as the apron is wide. After a barrier every
    tap is read from shared memory.
What it saves
    Against `separable-l0`: (bx + columns - 1) / bx instead of `columns` loads per result along the rows, and
    (by + rows - 1) / by instead of `rows` along the columns. The tiles are far smaller than that of `tiled`.
Limit
    A flat block has few rows to share its vertical apron with: 32 x 8 threads and 15 rows load 2.75 cells per
    result.

Source: G. R. Roberts, "CUDA: Convolution", lab report, section 3.2, L1. Its borders are zero only.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.unrolled import unrolled
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.problem import Work
from engine.variants.ladder.two_passes import two_pass_variant
from engine.variants.tiles.geometry import blocks_along
from engine.variants.tiles.separable import loads_along, two_pass_work
from engine.work.filtering.problem import Problem
from engine.work.filtering.work import tile_cells_inside

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_for


def shared_bytes(mask_shape: tuple[int, int], block: Block) -> tuple[int, int]:
    """Return the bytes of the horizontal and of the vertical tile, float32 whatever the picture's type."""
    rows, columns = mask_shape
    return block.y * (block.x + columns - 1) * 4, (block.y + rows - 1) * block.x * 4


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each block loads its cells and aprons once per pass; each tap reads shared memory."""

    def in_tiles(length: int, side: int, mask_side: int, anchor: int, ghosts: bool) -> int:
        """Cells of all tiles along a line: every result's own one, and the aprons of every block."""
        return length + blocks_along(length, side) * (mask_side - 1)

    def loaded(length: int, side: int, mask_side: int, anchor: int, ghosts: bool) -> int:
        return (tile_cells_inside if ghosts else in_tiles)(length, side, mask_side, anchor, ghosts)

    return two_pass_work(
        problem,
        *loads_along(problem, block, loaded),
        shared_loads=problem.samples * sum(problem.mask_shape),
        shared_stores=sum(loads_along(problem, block, in_tiles)),
    )


# A tile's shape must be known when the kernel is compiled; a person tries few of them at a time.
@kernel_factory
def horizontal_kernel(border: Border, columns: int, block: Block):
    """Return the kernel along the rows for a border, a number of weights and a block."""
    rule = cuda_rule(border)
    COLUMNS = columns
    BLOCK_X, BLOCK_Y = block.x, block.y
    TILE_COLUMNS = BLOCK_X + COLUMNS - 1

    @jit_for(block.threads)
    @unrolled
    def separable_l1_horizontal(image, factor, width, anchor, ghost_value, scratch):
        tile = cuda.shared.array((BLOCK_Y, TILE_COLUMNS), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        block_left = column - tx
        results = min(BLOCK_X, width - block_left)

        # Load the left apron, the block's own cells and the right apron, a whole block further at each step.
        if row < height:
            leftmost = tx - (anchor + BLOCK_X - 1) // BLOCK_X * BLOCK_X
            for cell in range(leftmost, results + COLUMNS - 1 - anchor, BLOCK_X):
                if cell >= -anchor:
                    source = rule(block_left + cell, width)
                    value = ghost_value
                    if source >= 0:
                        value = float32(image[row, source, channel])
                    tile[ty, anchor + cell] = value
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if row < height and column < width:
            total = float32(0.0)
            for n in range(COLUMNS):
                total += tile[ty, tx + n] * factor[n]
            scratch[row, column, channel] = total

    return separable_l1_horizontal


@kernel_factory
def vertical_kernel(border: Border, rows: int, block: Block):
    """Return the kernel along the columns for a border, a number of weights and a block."""
    rule = cuda_rule(border)
    ROWS = rows
    BLOCK_X, BLOCK_Y = block.x, block.y
    TILE_ROWS = BLOCK_Y + ROWS - 1

    @jit_for(block.threads)
    @unrolled
    def separable_l1_vertical(scratch, factor, width, anchor, ghost_value, offset, out):
        tile = cuda.shared.array((TILE_ROWS, BLOCK_X), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = scratch.shape[0]
        block_top = row - ty
        results = min(BLOCK_Y, height - block_top)

        # Load the top apron, the block's own cells and the bottom apron, a whole block further at each step.
        if column < width:
            topmost = ty - (anchor + BLOCK_Y - 1) // BLOCK_Y * BLOCK_Y
            for cell in range(topmost, results + ROWS - 1 - anchor, BLOCK_Y):
                if cell >= -anchor:
                    source = rule(block_top + cell, height)
                    value = ghost_value
                    if source >= 0:
                        value = scratch[source, column, channel]
                    tile[anchor + cell, tx] = value
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if row < height and column < width:
            total = float32(0.0)
            for m in range(ROWS):
                total += tile[ty + m, tx] * factor[m]
            out[row, column, channel] = total + offset

    return separable_l1_vertical


def kernels(problem: Problem, block: Block):
    """Return the kernels of the horizontal and of the vertical pass."""
    rows, columns = problem.mask_shape
    return horizontal_kernel(problem.border, columns, block), vertical_kernel(problem.border, rows, block)


VARIANT = two_pass_variant(
    kernels,
    shared_bytes,
    key="separable-l1",
    title="Separable, aprons shared (L1)",
    idea="Two passes for masks that are one column times one row; in each the block loads its cells and the "
    "aprons along that axis into shared memory together.",
    work=work,
)
