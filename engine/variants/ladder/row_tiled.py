"""`row-tiled`: 1-D along the rows; the block shares its cells and the halo left and right of them.

Idea
    The mask has one row. A block of TILE_SIZE threads computes TILE_SIZE results, and first copies the
    TILE_SIZE + mask - 1 cells that they need into shared memory, in the lecture's three steps.
Who loads what
    1. left halo: the last `anchor` threads, each the cell that lies TILE_SIZE to the left of its own;
    2. centre: every thread its own cell;
    3. right halo: the first `mask - 1 - anchor` threads, each the cell that lies TILE_SIZE to the right of
       its own. A block of TILE_SIZE x 1 threads is the lecture's block. One of TILE_SIZE x y is y of them,
       one above the other, each with its own row of shared memory.
What it saves
    Against `row-naive`: TILE_SIZE + mask - 1 loads instead of TILE_SIZE x mask. Tile 8, mask 5: 12 instead of
    40, 3.3 times less. Borders are decided once per loaded cell instead of once per tap.
Limit
    A thread loads at most one cell of each halo, so neither may be wider than TILE_SIZE. The weights still
    come from global memory, and each multiply-add still needs a load from shared memory.

Source: CENG443, "Tiled 1D Convolution Kernel" (convolution_1D_tiled_kernel). There both halos have Mask_Width
/ 2 cells, and the mask lies in constant memory (`row-tiled-constant`); the left halo is the anchor's column
here.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.variants.ladder.teaching import refuse_wide_halo, row_variant, work_of_tiles

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_for


def shared_bytes(mask_shape: tuple[int, int], block: Block) -> int:
    """Return the bytes of a block's input tile, a row with both halos per row of threads; float32 always."""
    return block.y * (block.x + mask_shape[1] - 1) * 4


# A tile's shape must be known when the kernel is compiled; a person tries few of them at a time.
@kernel_factory
def kernel(border: Border, mask_width: int, block: Block):
    """Return the kernel for a border, a mask width and a block."""
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


VARIANT = row_variant(
    lambda problem, block: kernel(problem.border, problem.mask_shape[1], block),
    shared_bytes,
    wider="tiled",
    key="row-tiled",
    title="1-D, tiled",
    idea="Along the rows, for masks of one row: the last threads load the left halo, all the centre, the "
    "first the right halo; every tap is read from shared memory.",
    # Each row of threads has a tile of its own.
    work=lambda problem, block: work_of_tiles(problem, Block(block.x, 1)),
    unsupported=refuse_wide_halo(shared_bytes),
)
