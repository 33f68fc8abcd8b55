"""`split-float16`: float32 samples and weights as two float16 each, multiplied on tensor cores.

Idea
    A float32 number is the sum of two float16 numbers, but for its last bit. Of two such sums' product three
    parts count; each is float16 times float16, exact in float32, and tensor cores form 2048 of them with one
    instruction, where multiply-adds take 64. A mask row's weights, moved by 0 to 7 cells, are the columns of
    one factor, so that a product has 8 neighbouring results in each row; about half of what is multiplied are
    zeros there.
Who loads what
    As `low-rank-2`: each warp streams down a strip of 128 samples, whose rows are copied to shared memory a
    group ahead of need, and borders are decided there. Weights and the sums of results that wait for further
    rows stay in registers all the way down. A mask edit needs no compiling.
Limit
    Registers leave two warps per scheduler, which hardly hide what one of them waits for: tensor cores work
    for half of the time. Groups of rows with NaN, infinity, or samples too far apart for float16 are
    multiplied in float32 instead, and take about five times as long.

Sources: splitting into two lower-precision numbers, Markidis, Der Chien, Laure, Peng and Vetter, "NVIDIA
tensor core programmability, performance & precision" (2018), arXiv:1803.04014, section V; the lower parts
scaled, and added up apart so that their cut does not matter, Ootomo and Yokota, "Recovering single precision
accuracy from tensor cores while surpassing the FP32 theoretical peak performance" (2022), arXiv:2203.03341; a
correlation as a product with a matrix of moved weights (Toeplitz), Chen et al., "ConvStencil: Transform
Stencil Computation to Matrix Multiplication on Tensor Cores", PPoPP 2024.
"""

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import DeviceKind, Launch, Operand, Pass
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.geometry.refusal import Refusal
from engine.geometry.tile_plan import TilePlan
from engine.mask.float_step import may_be_exact
from engine.mask.mask import MAX_SIDE, Mask
from engine.results.work import Work
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.sum_order import TENSOR_CORES
from engine.tasks.filtering.variants import Variant
from engine.tasks.filtering.work import filter_work
from engine.variants.filter_passes import prepare_passes
from engine.variants.ir.register_tile import VECTOR
from engine.variants.kernel_types import filter_pass
from engine.variants.tensor_cores.fragments import refusal, refuse_device
from engine.variants.tensor_cores.split_shape import (
    MOST_REGISTERS,
    PAIR,
    SplitShape,
    fragments_of,
    registers_of,
    shape_of,
)
from engine.variants.tensor_cores.weight_halves import halves_of, is_in_range, roundings_of
from engine.variants.tiles.strip_shape import LANES, STRIP_SAMPLES, WARPS, StripGrid
from engine.variants.tiles.strip_tiles import strip_tiles

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, int32, jit_for_blocks
    from engine.variants.ir.device_function import SHARED_ALIGNMENT, closer, waiter, zero_accumulators
    from engine.variants.tensor_cores.split_sums import (
        first_scaling,
        lane_weights,
        pair_storer,
        split_accumulator,
    )
    from engine.variants.tiles.strip_loader import strip_clearer, strip_columns, strip_loader, strip_position

BLOCKS = 2
"""Blocks that a multiprocessor has at once, with up to 255 registers per thread."""


def grid_of(problem: Problem) -> StripGrid:
    """Return how strips cover a picture."""
    return StripGrid(problem, shape_of(problem), BLOCKS, in_line=True)


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch, a warp per strip; the block is the variant's own, 32 threads across."""
    return (grid_of(problem).launch(),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each strip filters the rows under its results and those that the mask reaches over.

    A multiply-add of a sample and a weight counts once; on tensor cores it is three of float16, and more with
    zeros.
    """
    grid, shape = grid_of(problem), shape_of(problem)
    rows, lanes = grid.input_rows, grid.across * LANES
    pairs = 3 if shape.halo_lanes else 2
    return filter_work(
        problem,
        picture_loads=grid.loads,
        weight_loads=grid.bands * lanes * shape.fragments,
        shared_loads=lanes * rows * PAIR * pairs,
        shared_stores=grid.row_cells * rows + grid.cleared_cells,
        multiply_adds=lanes * rows * VECTOR * problem.taps,
    )


def tiles(problem: Problem, block: Block, at: tuple[int, int]) -> tuple[TilePlan, ...]:
    """Return the strips of a block's warps; a lane has a pair of results in each half of its strip."""
    return strip_tiles(grid_of(problem), at, lambda sample: sample % (STRIP_SAMPLES // 2) // PAIR)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the device, the mask or the picture do not suit; None if all do."""
    too_old = refuse_device(limits, "tensor cores and copies")
    if too_old is not None:
        return too_old
    shape, (rows, columns) = shape_of(problem), problem.mask_shape
    if (problem.dtype, problem.channels) != ("float32", 1):
        channels = f"{problem.channels} channel{'s' if problem.channels > 1 else ''}"
        more = f", not {problem.dtype} with {channels}, where register-blocked is faster"
        return refusal("float32-grey-only", "Takes float32 pictures of one channel", more)
    if registers_of(rows, shape.eights) > MOST_REGISTERS:
        short = f"The weights of {rows} × {columns} cells do not fit into registers"
        return refusal("mask-too-large", short, " beside the sums that wait; those of 17 × 17 and 9 × 31 do")
    if shape.shared_bytes > limits.shared_bytes:
        short = f"Needs {shape.shared_bytes:,} bytes of shared memory"
        return refusal("shared-memory", short, f"; a block has {limits.shared_bytes:,}")
    if not is_in_range(mask):
        short = "The largest weight is not between 2^-30 and 2^30"
        more = ": units of the sums could be too small or too large for float32"
        return refusal("weights-out-of-range", short, more)
    if may_be_exact(mask.weights32):
        short = "The weights have so few digits that sums are exact"
        more = " over whole numbers, and promised bit for bit; samples of more than 22 bits would be rounded"
        return refusal("exact-sums", short, more)
    steps = min(shape.group_rows, shape.mask_rows) * len(shape.products)
    additions = -(-shape.mask_rows // shape.group_rows) + 1
    needed, granted = roundings_of(mask, steps, additions), mask.taps + 2
    if needed > granted:
        more = f"; a direct sum of {mask.taps} cells is granted {granted}"
        return refusal("bound-exceeded", f"Could round as {needed:.0f} additions do", more)
    return None


# What the compiler must know: few of them are in use at a time.
@kernel_factory
def kernel(border: Border, shape: SplitShape):
    """Return the kernel for a border and a shape of a warp's work."""
    place_of, clear = strip_position(), strip_clearer(shape.along, shape.ring_rows)
    columns_of = strip_columns(shape.along, border.rule, 4)
    load = strip_loader(shape.along, shape.group_rows, 4, border.rule)
    wait, close = waiter(pending=shape.ahead - 1), closer()
    zeros, weights_of = zero_accumulators(shape.kept), lane_weights(shape)
    accumulate, store = split_accumulator(shape), pair_storer(shape.group_rows)
    BEFORE = shape.along.before
    BLOCK_CELLS, RING_CELLS, GROUP_CELLS = WARPS * shape.ring_cells, shape.ring_cells, shape.group_cells
    ROWS_BEFORE, GROUP_ROWS = shape.mask_rows - 1, shape.group_rows
    ROWS_AHEAD, AHEAD = shape.ahead * GROUP_ROWS, shape.ahead

    @jit_for_blocks(LANES * WARPS, BLOCKS)
    def correlate_halves(image, fragments, mask, unit, width, anchor_row, rows, ghost_value, offset, out):
        tile = cuda.shared.array(BLOCK_CELLS, float32, SHARED_ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        band, left = place_of(cuda.blockIdx.x * WARPS + warp, width)
        first = int32(band * rows)
        end = int32(min(first + rows, out.shape[0]))
        groups = (end - first + ROWS_BEFORE + GROUP_ROWS - 1) // GROUP_ROWS
        ring = int32(warp * RING_CELLS)
        ring_end = int32(ring + RING_CELLS)
        # Where the group that is loaded lies, then the one that is filtered: the oldest of the ring.
        there = ring
        # The first row that the group completes; the last block may have warps below the picture.
        row = int32(first - ROWS_BEFORE - ROWS_AHEAD)
        steps = groups + AHEAD if end > first else 0
        # From there to the first row of the group that is loaded.
        further = ROWS_BEFORE + ROWS_AHEAD - anchor_row
        columns = columns_of(width, lane, left - BEFORE)
        sample = int32(left + PAIR * lane)
        clear(tile, ring, width, left - BEFORE, lane)
        accumulators, scaling, weights = zeros(), first_scaling(), weights_of(fragments, lane)
        for step in range(steps):
            wait()
            cuda.syncwarp()
            if step < groups:
                load(tile, there, image, width, row + further, lane, left - BEFORE, columns, ghost_value)
            else:
                close()
            there = int32(ring if there + GROUP_CELLS == ring_end else there + GROUP_CELLS)
            if step >= AHEAD:
                results, accumulators, scaling = accumulate(
                    tile, there, lane, accumulators, scaling, weights, mask, unit, offset
                )
                store(out, row, first, end, sample, width, results)
            row = int32(row + GROUP_ROWS)

    return correlate_halves


def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    """Return the one pass."""
    shape, halves, grid = shape_of(problem), halves_of(mask), grid_of(problem)
    weights = fragments_of(shape, halves), mask.weights32, np.float32(halves.unit)
    constants = np.float32(problem.ghost_value), np.float32(mask.offset)
    sides = problem.width, problem.anchor[0], grid.rows
    arguments = (Operand.IMAGE, *weights, *sides, *constants, Operand.OUT)
    return (filter_pass(kernel(problem.border, shape), problem, grid.launch(), arguments),)


VARIANT = Variant(
    key="split-float16",
    title="Split float16 (tensor cores)",
    device=DeviceKind.CUDA,
    idea="Samples and weights as two float16 numbers each: tensor cores form three exact products where "
    "float32 forms one.",
    default_block=Block(32, WARPS),
    plan=plan,
    work=work,
    sum_order=lambda problem, mask: TENSOR_CORES,
    prepare=prepare_passes(passes),
    unsupported=unsupported,
    passes=passes,
    tiles=tiles,
    uses_block=False,
    remark="float32 grey, masks of about 40 cells up to 17 × 17. Rows with NaN, infinity or far-apart "
    "samples take about 5 times as long.",
    # Which rows share a group and a scale, and so how sums are rounded, depends on where a strip begins.
    band_invariant=False,
    # A direct sum of fewer cells is granted fewer roundings than this takes.
    least_side=7,
    # A mask row has two eights of cells at least.
    most_rows=MOST_REGISTERS // registers_of(1, 2),
    most_columns=MAX_SIDE,
    picture_types=("float32",),
    most_channels=1,
    rounds_weights=True,
)
