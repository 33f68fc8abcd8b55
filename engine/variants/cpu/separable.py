"""`cpu-separable`: a column times a row on all cores, in one pass or in two passes tile by tile.

Idea
    A mask that is one column times one row is applied along the picture's rows, then down the columns of
    these sums: rows + columns instead of rows x columns multiply-adds per result.
Who loads what
    With few mask rows (`product_rows`: at most 14) a core streams down a band as in `cpu-parallel`:
    the sum along the row is formed in registers and added at once to all results that it takes part in. With
    more rows it streams down a tile of 500 to 2000 samples; the sums along its rows stay in the core's second
    cache (256 KB) while results need them.
What it saves
    Against `cpu-parallel`: 31 x 31 needs 62 instead of 961 multiply-adds. Against two passes over the whole
    picture: the values between the passes never go to memory.
Limit
    Masks of rank 1. Memory up to 5 x 5; then loads: along the row each multiply-add loads its own samples,
    which lie across two cache lines.

What two passes may replace, and why the result keeps the bound of the direct sum: docs/decisions/0003.
"""

import numpy as np

from engine.geometry.block import Block, Limits, Refusal
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.run.variant import ON_CPU
from engine.variants.cpu.register_tiles import product_rows
from engine.variants.cpu.streamed_bands import StreamedBands
from engine.variants.cpu.two_passes import TwoPasses
from engine.variants.mask_classes import RANK_1, refuse_mask, required_factors
from engine.work.filtering.problem import Problem
from engine.work.filtering.sum_order import SumOrder, two_passes
from engine.work.filtering.variants import Variant
from engine.work.filtering.work import filter_work

# What a band costs beside its own rows, measured: so many rows for each mask row but one, as these are taken
# one by one.
COST_OF_MASK_ROWS = 1.5
INSTEAD = "cpu-parallel takes every mask"


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each sample once, rows + columns multiply-adds; sums between passes stay in the cache.

    What two bands or two tiles share is not counted: the number of bands depends on the cores.
    """
    return filter_work(
        problem, picture_loads=problem.samples, multiply_adds=problem.samples * sum(problem.mask_shape)
    )


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is not one column times one row, or None."""
    return refuse_mask(mask, INSTEAD)


def prepare(problem: Problem, mask: Mask, block: Block) -> StreamedBands | TwoPasses:
    """Return compiled bands; raise UnsupportedVariant for a mask that is not one column times one row."""
    return _bands(problem, mask).compiled()


def sum_order(problem: Problem, mask: Mask) -> SumOrder:
    """Return the order of a result's sum; equal weights of whole numbers are multiplied once."""
    factors, bands = required_factors(mask, INSTEAD), _bands(problem, mask)
    return two_passes(factors.row, factors.column, pairs=bands.pairs, taps=bands.taps_in_order)


def _bands(problem: Problem, mask: Mask) -> StreamedBands | TwoPasses:
    factors = required_factors(mask, INSTEAD)
    if mask.rows not in product_rows(problem.dtype != "float32", problem.result_dtype != "float32"):
        return TwoPasses(problem, mask)
    column, row = np.array(factors.column), np.array(factors.row)
    multiply_adds = problem.samples * sum(mask.shape)
    cost_rows = COST_OF_MASK_ROWS * (mask.rows - 1)
    return StreamedBands(problem, mask, column, row, multiply_adds, cost_rows)


VARIANT = Variant(
    **ON_CPU,
    key="cpu-separable",
    title="CPU, separable",
    idea="Masks that are one column times one row: along the rows, then down the columns, tile by tile, so "
    "that the sums between the passes stay in each core's cache.",
    work=work,
    prepare=prepare,
    sum_order=sum_order,
    unsupported=unsupported,
    integer_output=True,
    **RANK_1,
)
