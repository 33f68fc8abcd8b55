"""Masks that some variants take: products of a column and a row, and equal weights; how they are refused.

Products: a mask that is a column times a row (`engine.mask.factors`) is applied as two one-dimensional masks:

    horizontal   scratch[r, c] = sum over n of row[n] * image[r, c + n - anchor column]
    vertical     out[r, c] = offset + sum over m of column[m] * scratch[r + m - anchor row, c]

which is rows + columns multiply-adds per sample instead of rows x columns. docs/decisions/0003 has why every
border, NaN, infinity and the bound of the direct sum allow that. A ghost row consists of ghost cells, so its
sums are all the ghost value times the sum of the row's weights: the constant of the second pass.

Equal weights
    No sum here subtracts (adds a new sample and takes an old one out): in float32 that drifts, and one NaN or
    infinity would stay for the rest of the line. Windows are summed from their own samples instead (van Herk
    1992, Gil and Werman 1993, for the maximum): a line is cut where two neighbours begin to differ; then each
    window is the end of one piece, added up from the back, and the beginning of the next one, added up from
    the front. `cpu-box` cuts columns into segments as long as the window; `box` has the cells that some
    neighbours share in one piece (`engine/variants/fast/fused_sums.py`). NaN and infinity stay where the
    direct sum has them.

    Each sample is multiplied by the weight (one rounding, or none in a multiply-add), takes part in at most
    columns - 1 additions along its row, rows - 1 along its column and one with the offset: rows + columns
    roundings at most, never more than the rows x columns + 1 that `engine.work.filtering.oracle` grants,
    because (rows - 1)(columns - 1) >= 0. In the exact class nothing is rounded at all. The weight is applied
    before the sums, so that these can pass the largest float32 only where the direct sum could.

Source: M. van Herk, "A fast algorithm for local minimum and maximum filters on rectangular and octagonal
kernels", Pattern Recognition Letters 13 (1992); J. Gil and M. Werman, "Computing 2-D min, median, and max
filters", IEEE PAMI 15 (1993), section II.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from engine.geometry.block import Block, Refusal, UnsupportedVariant
from engine.mask.factors import Factors, factor
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.work.filtering.sum_order import SumOrder, two_passes
from engine.work.filtering.variants import Growth, MaskClass, filter_work, taps_inside
from engine.work.problem import Problem

RANK_1: dict[str, Any] = {
    "remark": "Takes only masks of rank 1, such as box, Gaussian and Sobel.",
    "masks": MaskClass.PRODUCTS,
    "rank": 1,
    "grows_with": Growth.SIDES,
}
"""What a variant of such masks is like."""
_OTHERS = "'tiled' and 'naive' take every mask"


def refuse_mask(mask: Mask, instead: str = _OTHERS) -> Refusal | None:
    """Return why a mask is not one column times one row, with its rank and the error of the nearest product.

    `instead` ends the sentence: the variants that take the mask.
    """
    if factor(mask).separable:
        return None
    sentence = _why_not_separable(mask.shape, mask.weights.tobytes())
    detail = f"{sentence} Two passes need one column times one row; {instead}."
    return Refusal("not-separable", "The mask is not separable", detail)


def required_factors(mask: Mask, instead: str = _OTHERS) -> Factors:
    """Return a mask's column and row; raise UnsupportedVariant where it has none."""
    refusal = refuse_mask(mask, instead)
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied in two passes", refusal)
    return factor(mask)


# The window asks at every edit; the singular values of 63 x 63 cells take 2 to 190 ms.
@lru_cache(maxsize=64)
def _why_not_separable(shape: tuple[int, int], weights: bytes) -> str:
    # A list of variants analyses no mask.
    from engine.mask.analysis import analyse, why_not_separable

    mask = Mask(np.frombuffer(weights).reshape(shape))
    return why_not_separable(mask, analyse(mask)).sentence


def ghost_row_value(problem: Problem, factors: Factors) -> np.float32:
    """Return what the first pass gives in a ghost row: the ghost value times the sum of the row's weights."""
    ghost_value = np.float64(np.float32(problem.ghost_value))
    with np.errstate(over="ignore"):
        return np.float32(np.sum(factors.row * ghost_value))


def order_of_factors(problem: Problem, mask: Mask, *, is_fused: bool = True) -> SumOrder:
    """Return the order of a result's sum in two passes."""
    factors = required_factors(mask)
    ghost_row = float(ghost_row_value(problem, factors))
    return two_passes(factors.row, factors.column, is_fused=is_fused, ghost_row=ghost_row)


def two_pass_work(problem: Problem, picture_loads: int, scratch_loads: int, **shared: int) -> Work:
    """Return the work of both passes: rows + columns multiply-adds per sample, each with a global weight.

    `picture_loads` are cells that the first pass reads, `scratch_loads` values that the second one reads of
    these.
    """
    adds = problem.samples * sum(problem.mask_shape)
    return filter_work(
        problem,
        picture_loads=picture_loads,
        weight_loads=adds,
        scratch_loads=scratch_loads,
        scratch_stores=problem.samples,
        multiply_adds=adds,
        **shared,
    )


def loads_along(
    problem: Problem, block: Block, count: Callable[[int, int, int, int, bool], int]
) -> tuple[int, int]:
    """Return what the horizontal and the vertical pass load.

    `count` gets the length of a line of the picture, the block's and the mask's side along it, the anchor
    there, and whether there are ghost cells; it returns the cells that the line costs.
    """
    ghosts = problem.border.has_ghost_cells
    (rows, columns), (anchor_row, anchor_column) = problem.mask_shape, problem.anchor
    return (
        problem.height * problem.channels * count(problem.width, block.x, columns, anchor_column, ghosts),
        problem.width * problem.channels * count(problem.height, block.y, rows, anchor_row, ghosts),
    )


def line_of_taps(length: int, side: int, mask_side: int, anchor: int, ghosts: bool) -> int:
    """Return the cells of a line when each tap of each result reads its own; ghost cells cost none."""
    return taps_inside(length, mask_side, anchor) if ghosts else length * mask_side


def is_box(mask: Mask) -> bool:
    """Return whether all float32 weights of a mask are equal."""
    weights = mask.weights32
    return bool((weights == weights[0, 0]).all())


def refuse_unequal(mask: Mask, instead: str) -> Refusal | None:
    """Return which weight differs from the first one, and variants to use instead; None for a box mask."""
    if is_box(mask):
        return None
    weights = mask.weights32
    row, column = divmod(int(np.argmax(weights.ravel() != weights[0, 0])), mask.columns)
    digits = 9 if f"{weights[row, column]:.4g}" == f"{weights[0, 0]:.4g}" else 4
    return Refusal(
        "weights-differ",
        "Needs equal weights",
        f"Needs equal weights; the weight in row 1, column 1 is {weights[0, 0]:.{digits}g}, "
        f"that in row {row + 1}, column {column + 1} is {weights[row, column]:.{digits}g}.",
        f"Use {instead}.",
    )
