"""`row-cached`: 1-D along the rows; shared memory holds the block's own cells, the halo is left to L1 and L2.

Idea
    The mask has one row. Each thread of a block of TILE_SIZE loads the one cell at its own position into
    shared memory. Taps between this tile's start and the next one's are read from there, the others from
    global memory, where a neighbouring block has most likely just put them into the cache.
Who loads what
    One load per thread for the tile. The threads near its ends load their halo taps again and again, from the
    cache. A block of TILE_SIZE x 1 threads is the lecture's block. One of TILE_SIZE x y is y of them, one
    above the other.
What it saves
    Against `row-tiled`: two of the three load steps, and the rule that a halo may be no wider than the tile.
    The price is a branch at every tap, on which the threads of a warp disagree near the tile's ends.
Limit
    The shorter the tile and the wider the mask, the more taps are halo: then it is `row-naive` with a branch.

Source: CENG443, "Simpler Tiled 1D Convolution" (convolution_1D_tiled_caching_kernel). There the mask lies in
constant memory (`row-cached-constant`).
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.variants.ladder.teaching import bytes_of_own_cells, row_variant, work_of_own_cells

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32, jit_for


@kernel_factory
def kernel(border: Border, mask_width: int, block: Block):
    """Return the kernel for a border, a mask width and a block."""
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


VARIANT = row_variant(
    lambda problem, block: kernel(problem.border, problem.mask_shape[1], block),
    bytes_of_own_cells,
    wider="cached",
    key="row-cached",
    title="1-D, cached halo",
    idea="Along the rows, for masks of one row: shared memory holds the block's own cells; the halo comes "
    "from global memory through caches.",
    work=work_of_own_cells,
)
