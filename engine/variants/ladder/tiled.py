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

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.variants.ladder.teaching import one_pass_variant, work_of_tiles

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_for


def tile_shape(mask_shape: tuple[int, int], block: Block) -> tuple[int, int]:
    """Return (rows, columns) of the input tile: the output tile and the halo around it."""
    return block.y + mask_shape[0] - 1, block.x + mask_shape[1] - 1


def shared_bytes(mask_shape: tuple[int, int], block: Block) -> int:
    """Return the bytes of the input tile, float32 whatever the picture's type."""
    rows, columns = tile_shape(mask_shape, block)
    return rows * columns * 4


# A tile's shape must be known when the kernel is compiled; a person tries few of them at a time.
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
    work=work_of_tiles,
)
