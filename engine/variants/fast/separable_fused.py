"""`separable-fused`: rows and columns in one kernel; what the first pass gives stays in the multiprocessor.

Idea
    A mask that is a column times a row is applied along the rows and then along the columns, as by
    `separable-l0`; but within a block, between two barriers.
Who loads what
    A block copies its input tile into shared memory with 16-byte copies that no thread waits for, filters
    each of its rows where it lies, and then its columns with the results of several rows in registers. Where
    a mask has many rows, a block moves down the picture, and has a few input rows and a ring of filtered ones
    (`engine/variants/fast/fused_kernel.py`). The factors lie in constant memory that is written when a mask
    is prepared.
What it saves
    Against the two-pass variants: the scratch picture in global memory, written once and read at least once.
    Against `register-blocked`: rows + columns multiply-adds per result instead of rows x columns.
Limit
    Memory up to about 15 x 15. The rows that the mask reaches over a block are filtered again by the next
    one: 8 beside 32 of a mask of 9 rows.

Source: the fused passes of V. Podlozhnyuk, "Image Convolution with CUDA" (NVIDIA, 2007), section "Separable
convolution", kept in shared memory. The rounding is that of `engine/variants/ladder/separable.py`.
"""

import numpy as np

from engine.geometry.block import Block, Refusal
from engine.mask.mask import MAX_SIDE, Mask
from engine.variants.fast.fused_kernel import fused_variant
from engine.variants.fast.fused_shape import (
    LANES,
    MULTIPROCESSORS,
    FusedShape,
    Size,
    first_fitting,
    shape_of,
    tiles_of,
)
from engine.variants.mask_classes import refuse_mask, required_factors
from engine.work.filtering.sum_order import SumOrder, two_passes
from engine.work.filtering.variants import Growth, MaskClass
from engine.work.problem import Problem

TILE_WARPS = 8
# Mask rows up to which memory is the limit, and from which 8 neighbouring results are better than 16.
MOST_ROWS_OF_FOUR, LEAST_ROWS_OF_EIGHT = 13, 22
# Mask rows up to which tiles are better, but where a ring pays in large pictures of float32; on several
# channels a tile of a large mask leaves few rows of results.
MOST_TILE_ROWS, MOST_SIDE_OF_SEVERAL, RING_ROWS = 33, 23, range(21, 27)
RINGS = Size(128, 16, 4, 4, 8), Size(64, 16, 4, 4, 4), Size(64, 16, 8, 1, 4)


def fused_shape(problem: Problem) -> FusedShape:
    """Return the shape of a block's work, the fastest of those that were tried (H200).

    More rows of results share the filtering of those above and below, but take the registers of other warps.
    A ring filters no row twice but those above a strip, and waits for every step's.
    """
    rows, columns = problem.mask_shape
    tiles = tiles_of(problem, 4 * TILE_WARPS)
    is_grey_float = problem.itemsize == 4 and problem.channels == 1
    takes_ring = is_grey_float and rows in RING_ROWS and tiles >= 8 * MULTIPROCESSORS
    is_wide = problem.channels > 1 and min(rows, columns) > MOST_SIDE_OF_SEVERAL
    if not tiles or rows > MOST_TILE_ROWS or takes_ring or is_wide:
        return first_fitting(problem, 1, RINGS)
    results = 8 if rows >= LEAST_ROWS_OF_EIGHT else 16
    tile_rows = (4,) if is_grey_float and rows <= MOST_ROWS_OF_FOUR else (4, 5, 6)
    sizes = [Size(128, results, number, 4, TILE_WARPS, is_ring=False) for number in tile_rows]
    sizes.sort(key=lambda size: shape_of(problem, 1, size).multiply_adds)
    return first_fitting(problem, 1, (*sizes, *RINGS))


def refuse(mask: Mask) -> Refusal | None:
    """Return why the mask is not a product or too large; None if all is well."""
    rows, columns = mask.shape
    if max(rows, columns) > MAX_SIDE:
        return Refusal(
            "mask-too-large",
            f"Takes masks of up to {MAX_SIDE} × {MAX_SIDE}",
            f"A mask of {rows} × {columns} is longer than shared memory allows; it may have up to {MAX_SIDE} "
            "rows and columns.",
            "Use separable-l1 or separable-l0.",
        )
    return refuse_mask(mask)


def weights_of(mask: Mask) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of a mask that is a product."""
    found = required_factors(mask)
    return np.float32(found.row).reshape(1, -1), np.float32(found.column).reshape(-1, 1)


def sum_order(problem: Problem, mask: Mask) -> SumOrder:
    """Return the order of a result's sum: the second pass begins with the offset."""
    found = required_factors(mask)
    words = "Each row is added up with the row's weights, then these sums to the offset, from the top."
    return two_passes(found.row, found.column, begins_with_offset=True, words=words)


VARIANT = fused_variant(
    fused_shape,
    weights_of,
    refuse,
    ("rows", "separable-l1"),
    key="separable-fused",
    title="Separable, fused",
    idea="Rows and columns in one kernel: what the first pass gives stays in shared memory.",
    default_block=Block(LANES, TILE_WARPS),
    sum_order=sum_order,
    masks=MaskClass.PRODUCTS,
    rank=1,
    grows_with=Growth.SIDES,
    most_rows=MAX_SIDE,
    most_columns=MAX_SIDE,
)
