"""`row-tiled-constant`: `row-tiled` with the mask in constant memory, as the lecture prints it.

Idea
    The block's cells and both halos lie in shared memory, the mask lies in constant memory: a multiply-add
    reads nothing from global memory.
Who loads what
    The three steps of `row-tiled`: the last `anchor` threads load the left halo, all the centre, the first
    `mask - 1 - anchor` threads the right halo. The host has copied the weights before the launch.
What it saves
    Against `row-tiled`: the weight's load from global memory at every tap. Tile 8, mask 5: 12 loads for 40
    multiply-adds. Nothing else differs: both know the mask's width when they are compiled.
Limit
    Neither halo may be wider than TILE_SIZE. Each multiply-add still needs a load from shared memory.

Source: CENG443, "Tiled 1D Convolution Kernel" (convolution_1D_tiled_kernel): its M is not a parameter, it is
`__constant__ float M[MAX_MASK_WIDTH]`. There both halos have Mask_Width / 2 cells, the width is known at run
time only, and N_ds has room for the widest mask.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import WEIGHTS, registers_for
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE as MAX_MASK_WIDTH
from engine.variants.ladder.teaching import refuse_wide_halo, row_variant, work_of_tiles

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.constant_memory import jit_with_constant
    from engine.device.cuda_rules import cuda_rule
    from engine.device.numba_cuda import cuda, float32
    from engine.variants.ladder.constant_weights import constant_weights


def shared_bytes(mask_shape: tuple[int, int], block: Block) -> int:
    """Return the bytes of a block's input tile, a row with both halos per row of threads; float32 always."""
    return block.y * (block.x + mask_shape[1] - 1) * 4


@kernel_factory
def kernel(border: Border, mask_width: int, block: Block):
    """Return the kernel for a border, a mask width and a block; any weights."""
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


VARIANT = row_variant(
    lambda problem, block: kernel(problem.border, problem.mask_shape[1], block),
    shared_bytes,
    wider="tiled",
    constant_floats=lambda mask_shape: MAX_MASK_WIDTH,
    key="row-tiled-constant",
    title="1-D, tiled, constant memory",
    idea="Along the rows, for masks of one row: as row-tiled, but the weights come from constant memory, as "
    "the lecture prints it.",
    # Each row of threads has a tile of its own.
    work=lambda problem, block: work_of_tiles(problem, Block(block.x, 1), constant_weights=True),
    unsupported=refuse_wide_halo(shared_bytes),
)
