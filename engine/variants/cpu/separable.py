"""`cpu-separable`: a column times a row on all cores, in one walk or in two passes tile by tile.

Idea
    If the mask is one column times one row, a row of sums along the picture's rows is computed first, then results down
    the columns of these sums: rows + columns instead of rows x columns multiply-adds per result.
Who loads what
    With few mask rows (up to 13 for float32, 7 for integers) a core walks down a band as `cpu-parallel` does: the sum along
    the row is formed in registers and added at once to all results that wait for it. With more rows it walks down a tile of
    500 to 2000 samples. Each input row is read once a band, in the picture's own type; its sums along the row stay in
    the core's second cache (256 KB) until the last result that needs them is done.
What it saves
    Against `cpu-parallel`: 31 x 31 needs 62 instead of 961 multiply-adds. Against two passes over the whole picture: the
    values between the passes never go to memory. In one walk they are not stored at all.
Limit
    Only masks of rank 1. Memory up to 5 x 5. Then the loads: along the row each multiply-add loads its own samples, which
    lie across two lines of the cache.

What two passes may replace, and why the result keeps the bound of the direct sum: docs/decisions/0003.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from engine.device.launches import DeviceKind, Launch
from engine.errors import UnsupportedVariant
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal
from engine.mask.analysis import analyse, why_not_separable
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.work import filter_work
from engine.tasks.work import Work
from engine.variants.contract import Growth, MaskClass, Variant
from engine.variants.cpu.band_walk import BandWalk
from engine.variants.cpu.cpu_product_sums import product_rows
from engine.variants.cpu.two_passes import TwoPasses

# What a band costs beside its own rows, measured: so many rows for each mask row but one, as these are taken one by one.
COST_OF_MASK_ROWS = 1.5


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return no launches: the bands are tasks of CPU threads."""
    return ()


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each sample once and rows + columns multiply-adds; the sums between the passes stay in the cache.

    What two bands or two tiles share is not counted: how many bands there are depends on the cores.
    """
    return filter_work(
        problem,
        picture_loads=problem.samples,
        multiply_adds=problem.samples * sum(problem.mask_shape),
    )


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is not one column times one row, or None."""
    return None if factor(mask).separable else _refusal(mask.shape, mask.weights.tobytes())


# A window asks at every edit; the singular values of 63 x 63 cells take 2 to 190 ms, as busy as the cores are.
@lru_cache(maxsize=64)
def _refusal(shape: tuple[int, int], weights: bytes) -> Refusal:
    mask = Mask(np.frombuffer(weights).reshape(shape))
    sentence = why_not_separable(mask, analyse(mask))
    return Refusal(f"{sentence} Two passes need one column times one row; cpu-parallel takes every mask.")


def prepare(problem: Problem, mask: Mask, block: Block) -> BandWalk | TwoPasses:
    """Return the bands for one problem and mask, compiled.

    Raises
    ------
    UnsupportedVariant
        The mask is not one column times one row.
    """
    refusal = unsupported(problem, mask, block, Limits())
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied in two passes", refusal.reason)
    tiny = np.zeros((1, 1, problem.channels), problem.dtype)
    small = _prepared(replace(problem, height=1, width=1), mask)
    small.launch(tiny, np.empty(tiny.shape, problem.result_dtype))
    return _prepared(problem, mask)


def _prepared(problem: Problem, mask: Mask) -> BandWalk | TwoPasses:
    if problem.mask_shape[0] not in product_rows(np.dtype(problem.dtype).kind == "u"):
        return TwoPasses(problem, mask)
    factors = factor(mask)
    column, row = np.array(factors.column), np.array(factors.row)
    cost_rows = COST_OF_MASK_ROWS * (problem.mask_shape[0] - 1)
    return BandWalk(problem, column, row, mask.offset, problem.samples * sum(problem.mask_shape), cost_rows)


VARIANT = Variant(
    key="cpu-separable",
    title="CPU, separable",
    device=DeviceKind.CPU,
    idea="Masks that are one column times one row: along the rows, then down the columns, tile by tile, so that the sums "
    "between the passes stay in each core's cache.",
    default_block=Block(1, 1),
    plan=plan,
    work=work,
    prepare=prepare,
    unsupported=unsupported,
    uses_block=False,
    remark="Takes only masks of rank 1, such as box, Gaussian and Sobel.",
    integer_output=True,
    masks=MaskClass.PRODUCTS,
    rank=1,
    grows_with=Growth.SIDES,
)
