"""`box`: masks of equal weights by running sums, in one kernel; the cost hardly depends on the side.

Idea
    Neighbouring windows have most of their cells in common. These are added up once; cells before them are
    added from the back, cells after them from the front (`engine/variants/fast/fused_sums.py`): about 3 to
    6 additions per result along the rows, and as many down the columns, whatever the mask.
Who loads what
    A block copies its input tile into shared memory, 16 bytes at a time. A few threads take a row, sum up 4
    to 32 neighbouring windows each in registers, and replace the samples by the sums; then each thread sums
    up its columns. For masks of many rows the block moves down, 8 to 32 rows at a time, and keeps the sums
    of rows that windows still need in a ring while the next input rows arrive
    (`engine/variants/fast/fused_shape.py`).
What it saves
    Against the separable variants: rows + columns multiply-adds become about ten additions.
Limit
    Memory; shared memory for large masks on several channels, where few neighbours share a channel.
"""

from engine.geometry.block import Block
from engine.variants.fast.fused_kernel import fused_variant
from engine.variants.fast.fused_shape import (
    LANES,
    FusedShape,
    Size,
    first_fitting,
    tiles_of,
)
from engine.variants.mask_classes import refuse_unequal
from engine.work.filtering.sum_order import RUNNING_SUMS
from engine.work.filtering.variants import Growth, MaskClass
from engine.work.problem import Problem

TILE_WARPS = 8
# Mask rows from which a ring is used, and up to which memory is the limit.
LEAST_RING_ROWS, MOST_ROWS_OF_FOUR = 24, 13


def box_shape(problem: Problem) -> FusedShape:
    """Return the shape of a block's work: a tile where there is room for one, else a ring.

    More neighbouring results per thread share more of what it reads of a row. More rows share the sums of
    those above and below, but take the registers of other warps. Widths, results and rows are those that were
    fastest on an H200.
    """
    rows, columns = problem.mask_shape
    span, is_grey = (columns - 1) * problem.channels, problem.channels == 1
    results = 8 if span < 8 else 16 if span < 24 else 32
    tile_rows = (4,) if is_grey and rows <= MOST_ROWS_OF_FOUR else (6, 5, 4)
    tiles = [Size(128, results, number, 4, TILE_WARPS, is_ring=False) for number in tile_rows]
    if rows >= LEAST_RING_ROWS or not tiles_of(problem, 4 * TILE_WARPS):
        tiles = []
    results = 16 if span < 32 else 32
    rings = [Size(128, results, 16, 1, 4)] * is_grey + [Size(64, results, number, 1, 4) for number in (16, 8)]
    return first_fitting(problem, 0, tiles + rings)


VARIANT = fused_variant(
    box_shape,
    lambda mask: (mask.weights32[0, 0],) * 2,
    lambda mask: refuse_unequal(mask, "register-blocked or tiled"),
    ("sums", "tiled"),
    key="box",
    title="Running sums (box)",
    idea="For masks of equal weights: what neighbouring windows have in common is added up once, along the "
    "rows and then down the columns, so that a large mask costs hardly more than a small one.",
    default_block=Block(LANES, TILE_WARPS),
    sum_order=lambda problem, mask: RUNNING_SUMS,
    remark="Takes only masks whose weights are all equal.",
    band_invariant=False,
    masks=MaskClass.EQUAL_WEIGHTS,
    grows_with=Growth.NOTHING,
)
