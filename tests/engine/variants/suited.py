"""What a general case becomes for a variant, by the traits that it declares.

What remains impossible (a tile that fits no shared memory) is left out by name of its refusal, never by
trying.
"""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
from msgspec import structs

from engine.geometry.block import Block, Layout, Limits
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS, MaskClass
from tests.engine.variants.case_lists import AXES, LARGE, MATRIX, simulator_case
from tests.engine.variants.cases import Case
from tests.pairwise import pairwise

LIMITS = Limits()


def typed(variant, problem):
    """Return the problem with samples and results of types, and channels, that the variant takes."""
    dtype = problem.dtype if problem.dtype in variant.picture_types else variant.picture_types[0]
    result = "uint8" if variant.uint8_only else problem.result_dtype
    return structs.replace(problem, dtype=dtype, result_dtype=result)


def suited(variant, case):
    """Return the case as the variant can take it; None where it takes no such mask."""
    if variant.uint8_only:
        # Ghost cells are bytes too.
        cval = float(round(abs(case.cval)) % 256)
        case = replace(case, dtype="uint8", pixels="even", cval=cval, is_quantised=True)
    if case.dtype not in variant.picture_types:
        case = replace(case, dtype=variant.picture_types[0])
    if case.mask_shape[0] * case.mask_shape[1] > variant.most_cells:
        return None
    case = replace(case, mask_shape=_at_least(variant, *case.mask_shape))
    if variant.rank > 1:
        case = replace(case, weights="even")
    if variant.masks is MaskClass.PRODUCTS:
        case = replace(case, weights=f"rank {variant.rank} {case.weights}")
    if variant.masks is MaskClass.EQUAL_WEIGHTS:
        case = replace(case, weights=f"equal {case.weights}")
    if variant.finite_only and case.pixels == "strange":
        return None
    if variant.least_sample and case.pixels == "subnormal":
        return None
    if case.is_quantised and not variant.integer_output:
        return None
    if variant.masks is MaskClass.ONE_ROW:
        rows, columns = case.mask_shape
        taps = max(rows, columns) if min(rows, columns) == 1 else columns
        anchor = None if case.anchor is None else (0, case.anchor[1])
        case = replace(case, mask_shape=(1, taps), anchor=anchor)
    if variant.block_covers_input:
        # Made so much larger, its output tile is what the case calls the block.
        rows, columns = case.mask_shape
        case = replace(case, block=Block(case.block.x + columns - 1, case.block.y + rows - 1))
    if case.mask_shape[0] > variant.most_rows or case.mask_shape[1] > variant.most_columns:
        return None
    refusal = variant.unsupported(case.problem(), case.mask(), case.block, LIMITS)
    if refusal is None:
        return case
    assert any(word in str(refusal) for word in ("block", "shared memory", "registers")), str(refusal)
    return None if refusal.nearest_block is None else replace(case, block=refusal.nearest_block)


def suited_cases(variant, cases):
    """Return the cases as the variant can take them: fewer where most of them become the same sort.

    Sums of three products have the code of those of two, and one more product.
    """
    cases = cases[:: 4 if variant.rank > 2 else 1]
    return tuple(found for case in cases if (found := suited(variant, case)) is not None)


@cache
def _pairs(*, are_large):
    """Return the rows of a kernel and values of the axes in which each two of them meet."""
    kernels = [one for one in VARIANTS if one.has_kernels and not (are_large and one.uses_block)]

    def is_possible(row):
        of_case = {name: value for name, value in row.items() if name != "variant"}
        return suited(row["variant"], simulator_case(**of_case)) is not None

    return pairwise({"variant": kernels, **(LARGE if are_large else AXES)}, is_possible)


def cases_in_simulator(variant):
    """Return the cases of a kernel; all kernels together have each two values of what cases differ in."""
    pairs = (*_pairs(are_large=False), *_pairs(are_large=True))
    rows = [{**row} for row in pairs if row["variant"] is variant]
    return tuple(suited(row.pop("variant"), simulator_case(**row)) for row in rows)


def matrix_in_simulator(variant):
    """Return the cases of each border, type and mask that a kernel takes."""
    fixed = {"size": (7, 11), "channels": 3, "anchor": "last", "block": Block(5, 3), "rows": Layout.PITCHED}
    rows = product(*(AXES[name] for name in MATRIX))
    cases = (simulator_case(**fixed, **dict(zip(MATRIX, row, strict=True))) for row in rows)
    return tuple(found for case in cases if (found := suited(variant, case)) is not None)


def mask_for(variant, rows, columns):
    """Return a mask of that shape that the variant takes, or a larger one where that is too small for it."""
    if variant.masks is MaskClass.ONE_ROW:
        return Mask(np.ones((1, columns)))
    if variant.rank > 1:
        weights = f"rank {variant.rank} even" if variant.rank else "even"
        return Case("mask", mask_shape=_at_least(variant, rows, columns), weights=weights).mask()
    return Mask(np.ones((rows, columns)))


def _at_least(variant, rows, columns):
    return max(rows, variant.least_side), max(columns, variant.least_side)


def block_for(variant, mask, block):
    """Return the block, or the nearest one that the variant can use with the mask."""
    problem = typed(variant, describe_problem(np.zeros((9, 9, 1), np.float32), mask, "zero", 0.0))
    refusal = variant.unsupported(problem, mask, block, LIMITS)
    if refusal is None:
        return block
    assert refusal.nearest_block is not None, str(refusal)
    return refusal.nearest_block
