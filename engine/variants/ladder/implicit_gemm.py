"""`implicit-gemm`: convolution as a matrix product; the large matrix exists only as tiles in shared memory.

Idea
    Y = W X. A row of W is a mask with its cells one after another; a column of X holds the cells that the
    mask covers when it lies on one pixel (k = tap, p = pixel, counted row after row over the picture); so
    Y[f, p] = sum over k of W[f, k] X[k, p] is the result of mask f at pixel p. X is taps times as large as
    the picture and is never stored: a block of x by y threads computes y masks at x pixels and builds, phase
    after phase, the next 25 rows of X for its own pixels in shared memory, multiplies, and builds the next.
Who loads what
    In each phase thread (tx, ty) loads every y-th row of X at its pixel (borders are decided here), and every
    x-th weight of its mask; after the barrier it multiplies row ty of W with column tx of X; a second
    barrier, because the next phase overwrites both tiles.
What it saves
    With one mask nothing: every cell of X is used once, as in `naive`, and of a block with more than one row
    of threads only the first computes (the others help to load). With a bank of masks the y rows of threads
    share X: loads of the picture fall by the factor y, and borders are decided once for y results.
Limit
    X repeats the picture: neighbouring pixels' columns hold the same cells again, loaded again, where `tiled`
    keeps one copy. And each multiply-add needs two loads from shared memory.

Source: ECE408 final report (CUCUDA), section 4, "Build Matrix Multiplication on the fly": there the block is
25 x 25, so that each thread loads one weight and one cell per phase, and the mask 5 x 5, so that there is one
phase. Here blocks and masks are of any size, the last phase is shorter instead of padded, and each phase is a
float32 partial sum.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, cuda_rule, float32, jit_for
from engine.device.launches import Launch, Pass
from engine.geometry import block as blocks
from engine.geometry.block import Block, Limits, Refusal, blocks_along
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.variants.ladder.teaching import teaching_variant
from engine.variants.passes import filter_arguments, filter_pass
from engine.work.filtering.sum_order import SumOrder
from engine.work.filtering.variants import Variant, filter_work, loads_by_taps
from engine.work.problem import Problem

# Rows of X that a phase builds: as in the report one phase for a 5 x 5 mask. Odd, so that the threads of a
# warp that work on different masks (blocks narrower than 32) read their weights from different banks of
# shared memory.
TILE_K = 25
MAX_GRID_X = (1 << 31) - 1


def tile_depth(taps: int) -> int:
    """Return the rows of X that a phase builds: no more than there are."""
    return min(TILE_K, taps)


def shared_bytes(taps: int, block: Block) -> int:
    """Return the bytes of the float32 tiles of W (block.y masks) and X (block.x pixels)."""
    return tile_depth(taps) * (block.x + block.y) * 4


def bank_plan(problem: Problem, block: Block, masks: int) -> tuple[Launch, ...]:
    """Return one launch: x along the pixels of a channel, y along the masks, z along channels."""
    pixels = problem.height * problem.width
    grid = (blocks_along(pixels, block.x), blocks_along(masks, block.y), problem.channels)
    tile, used = (Block(block.x, 1) if masks == 1 else None), shared_bytes(problem.taps, block)
    return (Launch(grid, (block.x, block.y, 1), used, tile=tile, results=problem.samples),)


def bank_work(problem: Problem, block: Block, masks: int) -> Work:
    """Return the work of a bank: X is built once for every block.y masks, W once per block.

    Loads of weights include the mask's offset, once per result.
    """
    (launch,) = bank_plan(problem, block, masks)
    pixel_blocks, mask_blocks, channels = launch.grid
    weights_to_shared = pixel_blocks * channels * masks * problem.taps
    return filter_work(
        problem,
        picture_loads=mask_blocks * loads_by_taps(problem),
        weight_loads=weights_to_shared + masks * problem.samples,
        shared_loads=2 * masks * problem.multiply_adds,
        shared_stores=weights_to_shared + mask_blocks * problem.multiply_adds,
        masks=masks,
    )


# A tile's shape must be known when the kernel is compiled; how many masks there are need not be.
@kernel_factory
def kernel(border: Border, mask_shape: tuple[int, int], block: Block):
    """Return the kernel for a border, a mask shape and a block.

    It takes weights of shape (masks, taps) and writes the masks' results one below the other: mask f's row r
    is row f x height + r of `out`.
    """
    rule = cuda_rule(border)
    MASK_COLUMNS = mask_shape[1]
    TAPS = mask_shape[0] * mask_shape[1]
    DEPTH = tile_depth(TAPS)
    REST = TAPS % DEPTH
    BLOCK_X, BLOCK_Y = block.x, block.y

    @jit_for(block.threads)
    def correlate_implicit_gemm(image, weights, width, anchor_row, anchor_column, ghost_value, offsets, out):
        w_tile = cuda.shared.array((BLOCK_Y, DEPTH), float32)
        x_tile = cuda.shared.array((DEPTH, BLOCK_X), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        pixel = cuda.blockIdx.x * BLOCK_X + tx
        mask = cuda.blockIdx.y * BLOCK_Y + ty
        channel = cuda.blockIdx.z
        height = image.shape[0]
        row = pixel // width
        column = pixel - row * width
        has_pixel = row < height
        has_mask = mask < weights.shape[0]

        total = float32(0.0)
        for first in range(0, TAPS, DEPTH):
            depth = min(DEPTH, TAPS - first)
            # Load the next taps of W: each row of threads those of its mask.
            if has_mask:
                for k in range(tx, depth, BLOCK_X):
                    w_tile[ty, k] = weights[mask, first + k]
            # Build the same rows of X: each column of threads those of its pixel.
            if has_pixel:
                for k in range(ty, depth, BLOCK_Y):
                    m = (first + k) // MASK_COLUMNS
                    n = (first + k) - m * MASK_COLUMNS
                    source_row = rule(row + m - anchor_row, height)
                    source_column = rule(column + n - anchor_column, width)
                    value = ghost_value
                    if source_row >= 0 and source_column >= 0:
                        value = float32(image[source_row, source_column, channel])
                    x_tile[k, tx] = value
            # No thread may read a cell before it is stored.
            cuda.syncthreads()

            if has_pixel and has_mask:
                partial = float32(0.0)
                # Both lengths are known when compiled, so both loops are unrolled: 3 instructions per tap,
                # not 14.
                if depth == DEPTH:
                    for k in range(DEPTH):
                        partial += w_tile[ty, k] * x_tile[k, tx]
                else:
                    for k in range(REST):
                        partial += w_tile[ty, k] * x_tile[k, tx]
                total += partial
            # No thread may overwrite a cell that another one still reads.
            cuda.syncthreads()

        if has_pixel and has_mask:
            out[mask * height + row, column, channel] = total + offsets[mask]

    return correlate_implicit_gemm


def bank_block(masks: int) -> Block:
    """Return the default block for a bank: up to 8 masks at once, spread evenly, and 512 threads.

    17 masks, for example, make three tiles of 6, 6 and 5 and not of 8, 8 and 1.
    """
    at_once = blocks_along(masks, blocks_along(masks, 8))
    return Block(min(256, 512 // at_once // 32 * 32), at_once)


def _variant(masks: int, bank_of: Callable[[Mask], tuple[Mask, ...]], **traits: Any) -> Variant:
    """Return the variant that applies a bank of so many masks; the bank may depend on its mask."""

    def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
        (launch,), bank = bank_plan(problem, block, masks), bank_of(mask)
        # As every filter kernel's, with a matrix of weights and an array of offsets.
        image, _, *numbers, _, out = filter_arguments(problem, bank[0])
        weights = np.stack([mask.weights32.reshape(-1) for mask in bank])
        offsets = np.array([mask.offset for mask in bank], np.float32)
        function = kernel(problem.border, problem.mask_shape, block)
        return (filter_pass(function, problem, launch, (image, weights, *numbers, offsets, out)),)

    def refuse(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
        pixels = problem.height * problem.width
        least = Block(blocks_along(pixels, MAX_GRID_X), blocks_along(masks, blocks.MAX_GRID_Y))

        def too_small() -> Refusal:
            if block.y < least.y:
                return blocks.grid_too_high(masks, "masks", blocks_along(masks, block.y), block)
            across = blocks_along(pixels, block.x)
            return blocks.grid_too_high(pixels, "pixels", across, block, "across", MAX_GRID_X)

        tiles = partial(shared_bytes, problem.taps)
        return blocks.refuse_block(block, limits, tiles, least=least, too_small=too_small)

    return teaching_variant(
        passes,
        key="implicit-gemm",
        idea="The block builds tiles of the unrolled input matrix in shared memory and multiplies them by "
        "the mask.",
        plan=lambda problem, block: bank_plan(problem, block, masks),
        work=lambda problem, block: bank_work(problem, block, masks),
        unsupported=refuse,
        sum_order=lambda problem, mask: SumOrder(
            f"{tile_depth(mask.taps)} products at a time are added up, row after row, then these sums, "
            "then the offset.",
            part=tile_depth(mask.taps),
            is_fused=True,
        ),
        **traits,
    )


VARIANT = _variant(
    1,
    lambda mask: (mask,),
    title="Implicit matrix product",
    default_block=Block(256, 1),
    remark="A block is x pixels by y masks: with one mask only its first row of threads computes. It pays "
    "with several masks in one launch, as the paper has them.",
)


def for_bank(bank: tuple[Mask, ...]) -> Variant:
    """Return the variant that applies masks of one shape and anchor in one launch.

    Its functions do not use the mask that they are given, and its `Prepared` writes the masks' results one
    below the other: `out` has as many rows as all results together.
    """
    masks, title = len(bank), f"{VARIANT.title}, {len(bank)} masks"
    return _variant(masks, lambda mask: bank, title=title, default_block=bank_block(masks))
