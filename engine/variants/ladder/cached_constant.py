"""`cached-constant`: `cached` with the mask in constant memory: the 2-D report's optimised kernel.

Idea
    Shared memory holds the block's own cells, constant memory the mask; the halo is left to L2. The
    report's KERNEL_SIZE is a macro, so here, too, the mask's sides are known when the kernel is compiled, and
    the compiler can unroll the loops.
Who loads what
    Each thread loads the one input cell at its own position into shared memory. Taps inside the block's cells
    are read from there, taps in the halo from global memory; weights from constant memory, where the host has
    copied them before the launch.
What it saves
    Against `cached`: the weight's load from global memory at every tap, and nothing else: both know the
    mask's sides when they are compiled.
Limit
    That of `cached`: a branch at every tap. A mask of another shape compiles anew; an edit of weights does
    not. The array has 4 bytes for each weight.

Source: Drexel ECEC-622, assignment 3, ConvolutionKernel_optimized and `kernel_c`.
"""

from functools import partial
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import WEIGHTS, registers_for
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.variants.ladder.teaching import bytes_of_own_cells, one_pass_variant, work_of_own_cells

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.constant_memory import jit_with_constant
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32
    from engine.variants.ladder.constant_weights import constant_weights


@kernel_factory
def kernel(border: Border, mask_shape: tuple[int, int], block: Block):
    """Return the kernel for a border, a mask shape and a block; any weights."""
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


VARIANT = one_pass_variant(
    lambda problem, block: kernel(problem.border, problem.mask_shape, block),
    bytes_of_own_cells,
    constant_floats=lambda mask_shape: mask_shape[0] * mask_shape[1],
    key="cached-constant",
    title="Cached halo, constant memory",
    idea="Shared memory holds the block's own cells, constant memory the mask; the halo comes from global "
    "memory through caches.",
    work=partial(work_of_own_cells, constant_weights=True),
)
