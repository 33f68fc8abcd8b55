"""Masks that are applied along the rows and then down the columns at once: products, sums of some, boxes.

`low-rank-2` and `low-rank-3` filter a row of the picture with each row of weights; the filtered rows lie side
by side, and each is filtered down with its own column. The columns and rows are those of
`engine/mask/factors.py`. Of them holds:

Error
    A term of a result is rounded `columns` times at most along the row, terms x rows times down the column,
    and once with the offset; one more is for the oracle's own float64 (`engine.work.filtering.oracle`).
    With k of all these, P = the sum of |column| times |row|, and E what the float32 columns and rows leave
    out of the mask,

        |result - oracle| <= sum over the mask of (|E| + gamma(k) P) |sample|  +  u |offset|

    A direct sum is granted gamma(rows x columns + 2) |weight| instead of the bracket. `added_error` is
    the sum of what the bracket is larger, cell by cell: 0 for many masks of positive weights; about 10^-6 of
    the largest sample where weights change their sign, because P does not vanish there. A sample that is
    subnormal loses more, as with every separable variant, for which the bound has a term of its own.
Refused
    Pictures of whole numbers with weights of so few digits that direct sums of them are exact: the columns
    and rows are rounded, and such results are promised bit for bit. Pictures with NaN or infinity: where the
    direct sum is infinite, products of both signs give infinity less infinity. So would samples past
    `MOST_SAMPLE`, which are refused too.
"""

import math

import numpy as np

from engine.geometry.block import Refusal
from engine.mask.factors import factor, low_rank, may_be_exact
from engine.mask.mask import MAX_SIDE, Mask
from engine.variants.fast.fused_kernel import fused_variant, tiles_of
from engine.variants.fast.tile_shape import BlockSize, FusedShape, first_fitting
from engine.variants.mask_classes import refuse_mask, refuse_unequal, required_factors
from engine.variants.passes import refuse_long_mask
from engine.verify.closeness import relative_bound
from engine.work.filtering.sum_order import PRODUCTS, RUNNING_SUMS, SumOrder, two_passes
from engine.work.filtering.variants import Growth, MaskClass, Variant
from engine.work.problem import Problem

SEPARABLE_STORY = """
`separable-fused`: rows and columns in one kernel; what the first pass gives stays in the multiprocessor.

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
TILE_WARPS = 8
# Mask rows up to which memory is the limit, and from which 8 neighbouring results are better than 16.
MOST_ROWS_OF_FOUR, LEAST_ROWS_OF_EIGHT = 13, 22
# Mask rows up to which tiles are better, but where a ring pays in large pictures of float32; on several
# channels a tile of a large mask leaves few rows of results.
MOST_TILE_ROWS, MOST_SIDE_OF_SEVERAL, RING_ROWS = 33, 23, range(21, 27)
RINGS = BlockSize(128, 16, 4, 4, 8), BlockSize(64, 16, 4, 4, 4), BlockSize(64, 16, 8, 1, 4)


def fused_shape(problem: Problem) -> FusedShape:
    """Return the shape of a block's work, the fastest of those that were tried (H200).

    More rows of results share the filtering of those above and below, but take the registers of other warps.
    A ring filters no row twice but those above a strip, and waits for every step's.
    """
    rows, columns = problem.mask_shape
    tiles = tiles_of(problem, TILE_WARPS)
    is_grey_float = problem.itemsize == 4 and problem.channels == 1
    takes_ring = is_grey_float and rows in RING_ROWS and tiles >= 8
    is_wide = problem.channels > 1 and min(rows, columns) > MOST_SIDE_OF_SEVERAL
    if not tiles or rows > MOST_TILE_ROWS or takes_ring or is_wide:
        return first_fitting(problem, 1, RINGS)
    results = 8 if rows >= LEAST_ROWS_OF_EIGHT else 16
    tile_rows = (4,) if is_grey_float and rows <= MOST_ROWS_OF_FOUR else (4, 5, 6)
    sizes = [BlockSize(128, results, number, 4, TILE_WARPS, is_ring=False) for number in tile_rows]
    sizes.sort(key=lambda size: FusedShape(problem, 1, size).multiply_adds)
    return first_fitting(problem, 1, (*sizes, *RINGS))


def refuse_no_product(mask: Mask) -> Refusal | None:
    """Return why the mask is not a product or too large; None if all is well."""
    why, instead = "is longer than shared memory allows", "separable-l1 or separable-l0"
    return refuse_long_mask(mask.shape, MAX_SIDE, why, instead) or refuse_mask(mask)


def sum_order(problem: Problem, mask: Mask) -> SumOrder:
    """Return the order of a result's sum: the second pass begins with the offset."""
    factors = required_factors(mask)
    words = "Each row is added up with the row's weights, then these sums to the offset, from the top."
    return two_passes(factors.row, factors.column, begins_with_offset=True, words=words)


SEPARABLE = fused_variant(
    fused_shape,
    lambda mask: (factor(mask).row.reshape(1, -1), factor(mask).column.reshape(-1, 1)),
    refuse_no_product,
    ("rows", "separable-l1"),
    key="separable-fused",
    title="Separable, fused",
    idea="Rows and columns in one kernel: what the first pass gives stays in shared memory.",
    warps=TILE_WARPS,
    sum_order=sum_order,
    masks=MaskClass.PRODUCTS,
    rank=1,
    grows_with=Growth.SIDES,
    most_rows=MAX_SIDE,
    most_columns=MAX_SIDE,
)


BOX_STORY = """
`box`: masks of equal weights by running sums, in one kernel; the cost hardly depends on the side.

Idea
    Neighbouring windows have most of their cells in common. These are added up once; cells before them are
    added from the back, cells after them from the front (`engine/variants/fast/fused_sums.py`): about 3 to
    6 additions per result along the rows, and as many down the columns, whatever the mask.
Who loads what
    A block copies its input tile into shared memory, 16 bytes at a time. A few threads take a row, sum up 4
    to 32 neighbouring windows each in registers, and replace the samples by the sums; then each thread sums
    up its columns. For masks of many rows the block moves down, 8 to 32 rows at a time, and keeps the sums
    of rows that windows still need in a ring while the next input rows arrive
    (`engine/variants/fast/fused_kernel.py`).
What it saves
    Against the separable variants: rows + columns multiply-adds become about ten additions.
Limit
    Memory; shared memory for large masks on several channels, where few neighbours share a channel.
"""
# Mask rows from which a ring is used.
LEAST_RING_ROWS = 24


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
    tiles = [BlockSize(128, results, number, 4, TILE_WARPS, is_ring=False) for number in tile_rows]
    if rows >= LEAST_RING_ROWS or not tiles_of(problem, TILE_WARPS):
        tiles = []
    results = 16 if span < 32 else 32
    rings = [BlockSize(128, results, 16, 1, 4)] * is_grey + [
        BlockSize(64, results, number, 1, 4) for number in (16, 8)
    ]
    return first_fitting(problem, 0, tiles + rings)


BOX = fused_variant(
    box_shape,
    lambda mask: (mask.weights32[0, 0],) * 2,
    lambda mask: refuse_unequal(mask, "register-blocked or tiled"),
    ("sums", "tiled"),
    key="box",
    title="Running sums (box)",
    idea="For masks of equal weights: what neighbouring windows have in common is added up once, along the "
    "rows and then down the columns, so that a large mask costs hardly more than a small one.",
    warps=TILE_WARPS,
    sum_order=lambda problem, mask: RUNNING_SUMS,
    remark="Takes only masks whose weights are all equal.",
    band_invariant=False,
    masks=MaskClass.EQUAL_WEIGHTS,
    grows_with=Growth.NOTHING,
)


WORTH_IT = 0.75
"""Multiply-adds that the sum may have for each one of the direct sum."""
MOST_TERMS = 3
MOST_SAMPLE = 2.0**60
_WORDS = {2: "two", 3: "three"}
_ANY_MASK = "Use register-blocked or tiled."
WARPS = 4
LOW_RANK_TILE = BlockSize(128, 16, 4, 4, WARPS, is_ring=False)
LOW_RANK_RINGS = (
    BlockSize(128, 16, 4, 4, WARPS),
    BlockSize(128, 16, 3, 4, WARPS),
    BlockSize(64, 16, 4, 4, WARPS),
    BlockSize(64, 16, 4, 4, 2),
    BlockSize(32, 8, 4, 1, 2),
)


def low_rank_shape(problem: Problem, terms: int) -> FusedShape:
    """Return the shape of a block's work: a tile for small pictures, else the first ring that has room.

    The order is that of the times of those tried (H200; docs/experiments/low-rank.md).
    """
    is_small = 0 < tiles_of(problem, WARPS) < 16
    return first_fitting(problem, terms, (*[LOW_RANK_TILE] * is_small, *LOW_RANK_RINGS))


def refuse_rank(mask: Mask, terms: int) -> Refusal | None:
    """Return why a mask is not worth a sum of so many products, or is none; None if all is well."""
    word, taken = _WORDS[terms], terms * sum(mask.shape)
    if factor(mask).separable:
        fitting = "separable-fused" if max(mask.shape) <= MAX_SIDE else "separable-l1"
        remedy = f"Use {fitting}, which needs no more."
        return Refusal("mask-rank", "The mask is one column times one row", remedy=remedy)
    if taken > WORTH_IT * mask.taps:
        short = f"{word.capitalize()} columns and rows take {taken} multiply-adds per result"
        beside = "hardly more" if mask.taps > taken else "no more"
        detail = f"{short}; the mask itself takes {mask.taps}, which is {beside}."
        return Refusal("mask-too-small", short, detail, _ANY_MASK)
    products = low_rank(mask, terms)
    short = f"The mask's rank is {products.rank}"
    if products.rank > terms:
        is_for_more = products.rank <= MOST_TERMS and refuse_rank(mask, MOST_TERMS) is None
        other = "low-rank-3" if is_for_more else "register-blocked, tiled or fft"
        detail = f"{short}: it is not a sum of {word} columns times rows."
        return Refusal("mask-rank", short, detail, f"Use {other}.")
    # With `MOST_SAMPLE` no sum within reaches the largest float32, 2^128.
    is_small = np.isfinite(products.columns).all() and products.magnitudes.sum() <= MOST_SAMPLE
    if not (is_small and np.isfinite(products.left_out).all()):
        short = "The weights are so large that a column would overflow"
        return Refusal("weights-too-large", short, remedy=_ANY_MASK)
    # Some masks of rank 1 are no product weight by weight (docs/decisions/0003-separable-factors.md).
    if products.rank <= 2 < terms:
        detail = f"{short}, for which two columns and rows do."
        return Refusal("mask-rank", short, detail, "Use low-rank-2, which needs no more.")
    return None


def low_rank_variant(terms: int) -> Variant:
    """Return the variant of so many products; the block is its own, 32 threads across."""
    word = _WORDS[terms]

    def refuse_exact(problem: Problem, mask: Mask) -> Refusal | None:
        is_exact = problem.dtype != "float32" and may_be_exact(mask.weights32)
        if not is_exact or factor(mask).separable:
            return None
        short = "The weights have so few digits that sums"
        over = "over a picture of whole numbers are exact, and rounded columns and rows would not give them"
        return Refusal("exact-sums", f"{short} are exact", f"{short} {over}.", _ANY_MASK)

    def weights_of(mask: Mask) -> tuple[np.ndarray, np.ndarray]:
        products = low_rank(mask, terms)
        return products.rows, products.columns

    def added_error(problem: Problem, mask: Mask) -> float:
        products = low_rank(mask, terms)
        roundings = mask.columns + terms * mask.rows + 2
        most = np.abs(products.left_out) + relative_bound(roundings) * products.magnitudes
        granted = relative_bound(mask.taps + 2) * np.abs(mask.weights32.astype(np.float64))
        return float(np.maximum(most - granted, 0.0).sum())

    return fused_variant(
        lambda problem: low_rank_shape(problem, terms),
        weights_of,
        lambda mask: refuse_rank(mask, terms),
        ("rows", "register-blocked"),
        refuse_problem=refuse_exact,
        key=f"low-rank-{terms}",
        title=f"Low rank, {word} products",
        idea=f"The mask as a sum of {word} columns times rows, all applied in one kernel as by "
        "separable-fused.",
        warps=WARPS,
        sum_order=lambda problem, mask: PRODUCTS,
        remark=f"For masks of rank {terms}. Where weights of both signs meet, the error is larger than that "
        "of a direct sum, and it is stated; pictures with NaN or infinity are refused.",
        finite_only=True,
        most_sample=MOST_SAMPLE,
        added_error=added_error,
        masks=MaskClass.PRODUCTS,
        rank=terms,
        grows_with=Growth.SIDES,
        # terms x (side + side) <= WORTH_IT x side x side.
        least_side=math.ceil(2 * terms / WORTH_IT),
        most_rows=MAX_SIDE,
        most_columns=MAX_SIDE,
    )


OF_TWO = """
`low-rank-2`: the mask as a sum of two columns times rows, both applied in one kernel.

Idea
    A mask that is not a product may be the sum of two: a difference of Gaussians, the Laplacian of a
    Gaussian. The singular value decomposition finds them.
Who loads what
    As in `separable-fused`, with a ring: each input row is filtered twice, into two filtered rows side by
    side, and each of them is filtered down into the same results.
What it saves
    2 (rows + columns) multiply-adds per result instead of rows x columns.
Limit
    More is rounded off than by a direct sum where the products are larger than the mask that they add up to;
    the bound is in `engine/variants/fast/fused.py`, and every result is held to it.

Source: S. Treitel and J. L. Shanks, "The design of multistage separable planar filters", IEEE Transactions on
Geoscience Electronics 9 (1971).
"""
LOW_RANK_2 = low_rank_variant(2)

OF_THREE = """
`low-rank-3`: the mask as a sum of three columns times rows, all applied in one kernel.

As `low-rank-2`, with one product more (the sum of a Gaussian and a Laplacian of a Gaussian, for one): 3 (rows
+ columns) multiply-adds per result. Below 8 x 8 these would be more than three quarters of a direct sum's,
and it refuses.
"""
LOW_RANK_3 = low_rank_variant(3)
