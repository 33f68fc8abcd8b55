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

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.variants.ladder.teaching import bytes_of_own_cells, one_pass_variant, work_of_own_cells

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_for


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
    work=work_of_own_cells,
)
