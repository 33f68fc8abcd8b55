"""What the separable variants do the same way: refuse a mask that is no product, give the passes their arguments, count.

A mask that is a column times a row (`engine.mask.factors`) is applied as two one-dimensional masks:

    horizontal   scratch[r, c] = sum over n of row[n] * image[r, c + n - anchor column]       IMAGE to SCRATCH
    vertical     out[r, c] = offset + sum over m of column[m] * scratch[r + m - anchor row, c]    SCRATCH to OUT

which is rows + columns multiply-adds a sample instead of rows x columns.

Borders
    Every border treats rows and columns apart, so the first pass needs only the rule of the columns and the second only
    that of the rows; reflect, mirror, replicate and wrap give the second pass a row that the first has computed. A ghost
    row consists of ghost cells, so its sums are all the ghost value times the sum of the row's weights: that, and not
    the ghost value, is the constant of the second pass (zero stays zero).
NaN and infinity
    0 x NaN and 0 x infinity are NaN in either pass, and no weight of the row or of the column is 0 unless all weights
    are that it makes: a result is NaN, or infinite, or finite where the direct sum is.
Rounding
    A term of the direct sum is rounded `columns` times at most in the first pass (its product and the additions),
    `rows` times in the second, once with the offset, and comes with a weight that is off by 4 (1 - 1/rows)
    (1 - 1/columns) + 2 roundings at most. `engine.tasks.filtering.agreement` grants rows x columns + 2. That is enough for every
    mask except those of 2 x 2, 2 x 3 and 2 x 4 (either way round): there the worst case is 8 of 6 roundings, 9.33 of 8
    and 10.5 of 10, if all of them go the same way; 0.55 of the bound is the most that was seen in millions of results.
    Exact factors, masks of one line and an offset of 0 save the roundings that they do not make, so 1 x N has N + 1.
    A product that is subnormal loses 2^-150; in the first pass that is multiplied by the column.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import types

from engine.device.cuda_kernels import SCRATCH, float32, image_type, result_type
from engine.device.launches import Launch, Operand, Pass
from engine.errors import UnsupportedVariant
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal, SharedBytes
from engine.mask.analysis import analyse, why_not_separable
from engine.mask.factors import Factors, factor
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.work import filter_work, taps_inside
from engine.tasks.work import Work
from engine.variants.ladder.geometry import one_launch, refuse_launch


def two_launches(
    problem: Problem, block: Block, horizontal_bytes: int = 0, vertical_bytes: int = 0
) -> tuple[Launch, ...]:
    """Return a launch a pass, each of one thread a result, with their bytes of shared memory."""
    return one_launch(problem, block, horizontal_bytes) + one_launch(problem, block, vertical_bytes)


def refuse_two_passes(
    problem: Problem, mask: Mask, block: Block, limits: Limits, shared_bytes: SharedBytes = lambda block: 0
) -> Refusal | None:
    """Return why the mask, the block, the larger of its tiles or the grid is illegal, or None.

    Parameters
    ----------
    problem : Problem
    mask : Mask
    block : Block
    limits : Limits
    shared_bytes : callable of Block -> int
        Static shared memory of the pass that uses more, bytes.
    """
    return refuse_mask(mask) or refuse_launch(problem, block, limits, shared_bytes)


def refuse_mask(mask: Mask) -> Refusal | None:
    """Return why a mask is not one column times one row, with its rank and what the nearest product leaves over."""
    return None if factor(mask).separable else _refusal(mask.shape, mask.weights.tobytes())


# A window asks at every edit; the singular values of 63 x 63 cells take 2 to 190 ms, as busy as the cores are.
@lru_cache(maxsize=64)
def _refusal(shape: tuple[int, int], weights: bytes) -> Refusal:
    mask = Mask(np.frombuffer(weights).reshape(shape))
    sentence = why_not_separable(mask, analyse(mask))
    return Refusal(
        f"{sentence} Two passes need one column times one row; 'tiled' and 'naive' take every mask."
    )


def ghost_row_value(problem: Problem, factors: Factors) -> np.float32:
    """Return what the first pass gives in a ghost row: the ghost value times the sum of the row's weights."""
    ghost_value = np.float64(np.float32(problem.ghost_value))
    with np.errstate(over="ignore"):
        return np.float32(np.sum(factors.row * ghost_value))


def two_passes(
    problem: Problem,
    mask: Mask,
    launches: tuple[Launch, ...],
    horizontal: Any,
    vertical: Any,
) -> tuple[Pass, ...]:
    """Return the two passes.

    Parameters
    ----------
    problem : Problem
    mask : Mask
    launches : tuple of two Launch
    horizontal : kernel of (image, factor, width, anchor, ghost_value, scratch)
    vertical : kernel of (scratch, factor, width, anchor, ghost_value, offset, out)

    Raises
    ------
    UnsupportedVariant
        The mask is not one column times one row.
    """
    refusal = refuse_mask(mask)
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied in two passes", refusal.reason)
    factors = factor(mask)
    weights = types.Array(float32, 1, "C")
    anchor_row, anchor_column = problem.anchor
    ghost_value = np.float32(problem.ghost_value)
    return (
        Pass(
            horizontal.py_func.__name__,
            horizontal,
            (image_type(problem), weights, types.int64, types.int64, float32, SCRATCH),
            launches[0],
            (Operand.IMAGE, factors.row, problem.width, anchor_column, ghost_value, Operand.SCRATCH),
        ),
        Pass(
            vertical.py_func.__name__,
            vertical,
            (SCRATCH, weights, types.int64, types.int64, float32, float32, result_type(problem)),
            launches[1],
            (
                Operand.SCRATCH,
                factors.column,
                problem.width,
                anchor_row,
                ghost_row_value(problem, factors),
                np.float32(mask.offset),
                Operand.OUT,
            ),
        ),
    )


def two_pass_work(
    problem: Problem, *, picture_loads: int, scratch_loads: int, shared_loads: int = 0, shared_stores: int = 0
) -> Work:
    """Return the work of both passes: rows + columns multiply-adds a sample, each with a weight from global memory.

    Parameters
    ----------
    problem : Problem
    picture_loads, scratch_loads : int
        Cells that the first pass reads of the picture, and the second of the first one's results.
    shared_loads, shared_stores : int
    """
    multiply_adds = problem.samples * sum(problem.mask_shape)
    return filter_work(
        problem,
        picture_loads=picture_loads,
        weight_loads=multiply_adds,
        scratch_loads=scratch_loads,
        scratch_stores=problem.samples,
        shared_loads=shared_loads,
        shared_stores=shared_stores,
        multiply_adds=multiply_adds,
    )


def loads_along(problem: Problem, count: Callable[[int, int, int, bool], int]) -> tuple[int, int]:
    """Return what both passes load, counted along their own axis.

    Parameters
    ----------
    problem : Problem
    count : callable of (length, mask side, anchor, ghost cells) -> int
        Cells that one line of the picture costs.

    Returns
    -------
    horizontal, vertical : int
    """
    ghosts = problem.border.has_ghost_cells
    rows, columns = problem.mask_shape
    return (
        problem.height * problem.channels * count(problem.width, columns, problem.anchor[1], ghosts),
        problem.width * problem.channels * count(problem.height, rows, problem.anchor[0], ghosts),
    )


def line_of_taps(length: int, mask_side: int, anchor: int, ghosts: bool) -> int:
    """Return the cells that one line costs when each tap of each result reads its own; ghost cells cost none."""
    return taps_inside(length, mask_side, anchor) if ghosts else length * mask_side
