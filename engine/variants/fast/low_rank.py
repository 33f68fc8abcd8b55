"""What `low-rank-2` and `low-rank-3` share: a mask as a sum of columns times rows, all applied in one kernel.

A row of the picture is filtered with each row of weights; the filtered rows lie side by side, and each is
filtered down with its own column (`engine/variants/fast/fused_kernel.py`). The columns and rows are those of
`engine/mask/factors.py`.

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

from engine.geometry.block import Block, Refusal
from engine.mask.factors import factor, low_rank, may_be_exact
from engine.mask.mask import MAX_SIDE, Mask
from engine.variants.fast.fused_kernel import fused_variant
from engine.variants.fast.fused_shape import (
    LANES,
    MULTIPROCESSORS,
    FusedShape,
    Size,
    first_fitting,
    tiles_of,
)
from engine.verify.closeness import relative_bound
from engine.work.filtering.sum_order import PRODUCTS
from engine.work.filtering.variants import Growth, MaskClass, Variant
from engine.work.problem import Problem

WORTH_IT = 0.75
"""Multiply-adds that the sum may have for each one of the direct sum."""
MOST_TERMS = 3
MOST_SAMPLE = 2.0**60
_WORDS = {2: "two", 3: "three"}
WARPS = 4
TILE = Size(128, 16, 4, 4, WARPS, is_ring=False)
RINGS = (
    Size(128, 16, 4, 4, WARPS),
    Size(128, 16, 3, 4, WARPS),
    Size(64, 16, 4, 4, WARPS),
    Size(64, 16, 4, 4, 2),
    Size(32, 8, 4, 1, 2),
)


def low_rank_shape(problem: Problem, terms: int) -> FusedShape:
    """Return the shape of a block's work: a tile for small pictures, else the first ring that has room.

    The order is that of the times of those tried (H200; docs/experiments/low-rank.md).
    """
    is_small = 0 < tiles_of(problem, 4 * WARPS) < 16 * MULTIPROCESSORS
    return first_fitting(problem, terms, (*[TILE] * is_small, *RINGS))


def refuse_mask(mask: Mask, terms: int) -> Refusal | None:
    """Return why a mask is not worth a sum of so many products, or is none; None if all is well."""
    (rows, columns), word = mask.shape, _WORDS[terms]
    if factor(mask).separable:
        fitting = "separable-fused" if max(mask.shape) <= MAX_SIDE else "separable-l1"
        return Refusal(
            "mask-rank",
            "The mask is one column times one row",
            remedy=f"Use {fitting}, which needs no more.",
        )
    if terms * (rows + columns) > WORTH_IT * mask.taps:
        beside = "hardly more" if mask.taps > terms * (rows + columns) else "no more"
        short = (
            f"{word.capitalize()} columns and rows take {terms * (rows + columns)} multiply-adds per result"
        )
        return Refusal(
            "mask-too-small",
            short,
            f"{short}; the mask itself takes {mask.taps}, which is {beside}.",
            "Use register-blocked or tiled.",
        )
    found = low_rank(mask, terms)
    if found.rank > terms:
        is_for_more = found.rank <= MOST_TERMS and refuse_mask(mask, MOST_TERMS) is None
        other = "low-rank-3" if is_for_more else "register-blocked, tiled or fft"
        return Refusal(
            "mask-rank",
            f"The mask's rank is {found.rank}",
            f"The mask's rank is {found.rank}: it is not a sum of {word} columns times rows.",
            f"Use {other}.",
        )
    # With `MOST_SAMPLE` no sum within reaches the largest float32, 2^128.
    is_small = np.isfinite(found.columns).all() and found.magnitudes.sum() <= MOST_SAMPLE
    if not (is_small and np.isfinite(found.left_out).all()):
        return Refusal(
            "weights-too-large",
            "The weights are so large that a column would overflow",
            remedy="Use register-blocked or tiled.",
        )
    # Some masks of rank 1 are no product weight by weight (docs/decisions/0003-separable-factors.md).
    if found.rank <= 2 < terms:
        return Refusal(
            "mask-rank",
            f"The mask's rank is {found.rank}",
            f"The mask's rank is {found.rank}, for which two columns and rows do.",
            "Use low-rank-2, which needs no more.",
        )
    return None


def low_rank_variant(terms: int, story: str) -> Variant:
    """Return the variant of so many products; the block is its own, 32 threads across."""
    word = _WORDS[terms]

    def refuse_exact(problem: Problem, mask: Mask) -> Refusal | None:
        is_exact = problem.dtype != "float32" and may_be_exact(mask.weights32)
        if not is_exact or factor(mask).separable:
            return None
        return Refusal(
            "exact-sums",
            "The weights have so few digits that sums are exact",
            "The weights have so few digits that sums over a picture of whole numbers are exact, and rounded "
            "columns and rows would not give them.",
            "Use register-blocked or tiled.",
        )

    def weights_of(mask: Mask) -> tuple[np.ndarray, np.ndarray]:
        found = low_rank(mask, terms)
        return found.rows, found.columns

    def added_error(problem: Problem, mask: Mask) -> float:
        found = low_rank(mask, terms)
        roundings = mask.columns + terms * mask.rows + 2
        most = np.abs(found.left_out) + relative_bound(roundings) * found.magnitudes
        granted = relative_bound(mask.taps + 2) * np.abs(mask.weights32.astype(np.float64))
        return float(np.maximum(most - granted, 0.0).sum())

    return fused_variant(
        lambda problem: low_rank_shape(problem, terms),
        weights_of,
        lambda mask: refuse_mask(mask, terms),
        ("rows", "register-blocked"),
        refuse_problem=refuse_exact,
        key=f"low-rank-{terms}",
        story=story,
        title=f"Low rank, {word} products",
        idea=f"The mask as a sum of {word} columns times rows, all applied in one kernel as by "
        "separable-fused.",
        default_block=Block(LANES, WARPS),
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
    the bound is in `engine/variants/fast/low_rank.py`, and every result is held to it.

Source: S. Treitel and J. L. Shanks, "The design of multistage separable planar filters", IEEE Transactions on
Geoscience Electronics 9 (1971).
"""
TWO = low_rank_variant(2, OF_TWO)

OF_THREE = """
`low-rank-3`: the mask as a sum of three columns times rows, all applied in one kernel.

As `low-rank-2`, with one product more (the sum of a Gaussian and a Laplacian of a Gaussian, for one): 3 (rows
+ columns) multiply-adds per result. Below 8 x 8 these would be more than three quarters of a direct sum's,
and it refuses.
"""
THREE = low_rank_variant(3, OF_THREE)
