"""`row-cached-constant`: `row-cached` with the mask in constant memory, as the lecture prints it.

Idea
    Shared memory holds the block's own cells, constant memory the mask; the halo is left to L1 and L2.
Who loads what
    One load per thread for the tile. The threads near its ends load their halo taps again and again, from the
    cache. The host has copied the weights before the launch.
What it saves
    Against `row-cached`: the weight's load from global memory at every tap.
Limit
    That of `row-cached`: a branch at every tap; the shorter the tile and the wider the mask, the more taps
    are halo.

Source: CENG443, "Simpler Tiled 1D Convolution" (convolution_1D_tiled_caching_kernel): its M is not a
parameter, it is `__constant__ float M[MAX_MASK_WIDTH]`.
"""

from functools import partial
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import WEIGHTS, registers_for
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE as MAX_MASK_WIDTH
from engine.variants.ladder.teaching import bytes_of_own_cells, row_variant, work_of_own_cells

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.constant_memory import jit_with_constant
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32
    from engine.variants.ladder.constant_weights import constant_weights


@kernel_factory
def kernel(border: Border, mask_width: int, block: Block):
    """Return the kernel for a border, a mask width and a block; any weights."""
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


VARIANT = row_variant(
    lambda problem, block: kernel(problem.border, problem.mask_shape[1], block),
    bytes_of_own_cells,
    wider="cached-constant",
    constant_floats=lambda mask_shape: MAX_MASK_WIDTH,
    key="row-cached-constant",
    title="1-D, cached halo, constant memory",
    idea="Along the rows, for masks of one row: as row-cached, but the weights come from constant memory, as "
    "the lecture prints it.",
    work=partial(work_of_own_cells, constant_weights=True),
)
