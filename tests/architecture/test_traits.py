"""What variants declare of themselves is what they do: traits beside `unsupported`, one by one."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from engine.geometry.block import Block, Limits
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask
from engine.work.filtering.variants import VARIANTS, Growth, MaskClass
from engine.work.problem import DTYPES, MAX_CHANNELS
from tests.engine.variants.case_lists import mask_for, typed
from tests.engine.variants.cases import Case, problem_of

KNOWN = [known for known in VARIANTS if known.library != "cupy"]
every_variant = pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.key)


def refusal_of(known, mask, **changes):
    """Return why a variant does not take a mask on a picture that suits it; empty if it does."""
    problem = typed(known, problem_of(200, 200, mask))
    block = Block(32, 32) if known.block_covers_input else known.default_block
    # So large that a tile of any mask has room: what is left are the limits that a variant sets itself.
    limits = replace(Limits(), shared_bytes=1 << 30)
    refusal = known.why_not(structs.replace(problem, **changes), mask, block, limits, VARIANTS)
    return "" if refusal is None else str(refusal)


def fitting(known, rows, columns):
    """Return a mask of exactly that shape, of the class that a variant takes, with weights of many digits."""
    if known.masks is MaskClass.EQUAL_WEIGHTS:
        return Mask(np.full((rows, columns), 0.3))
    weights = f"rank {known.rank} even" if known.rank else "even"
    return Case("mask", mask_shape=(rows, columns), weights=weights).mask()


@every_variant
def test_that_a_variant_takes_the_masks_that_it_declares(known):
    side = max(9, known.least_side)
    assert not refusal_of(known, mask_for(known, side, side))
    random = Mask(np.random.default_rng(3).standard_normal((side, side)))
    assert bool(refusal_of(known, random)) == (known.masks is not MaskClass.ANY)
    if known.rank:
        assert refusal_of(known, fitting(replace(known, rank=known.rank + 1), side + 6, side + 6))
    assert (known.rank > 0) == (known.masks is MaskClass.PRODUCTS)
    if known.rank > 1:
        few_digits = np.random.default_rng(4).integers(1, 9, (side, side))
        if known.rank:
            parts = np.random.default_rng(4).integers(1, 4, (known.rank, 2, side))
            few_digits = sum(np.outer(column, row) for column, row in parts)
        dtype = "uint8" if "uint8" in known.picture_types else known.picture_types[0]
        assert "so few digits" in refusal_of(known, Mask(few_digits.astype(float)), dtype=dtype)


@every_variant
def test_that_the_largest_and_the_smallest_mask_are_those_declared(known):
    least = known.least_side
    if least > 1:
        assert refusal_of(known, fitting(known, least - 1, least - 1))
        assert not refusal_of(known, fitting(known, least, least))
    rows_at_most = 1 if known.masks is MaskClass.ONE_ROW else min(known.most_rows, MAX_SIDE)
    for rows, columns in ((known.most_rows + 1, least), (least, known.most_columns + 1)):
        if max(rows, columns) <= (MAX_LINE if min(rows, columns) == 1 else MAX_SIDE) and rows_at_most > 1:
            assert refusal_of(known, fitting(known, rows, columns)), (rows, columns)
    if known.most_cells < MAX_SIDE * MAX_SIDE:
        side = int(known.most_cells**0.5)
        assert not refusal_of(known, fitting(known, side, side))
        assert refusal_of(known, fitting(known, side + 1, side + 1))


@every_variant
def test_that_pictures_are_those_declared(known):
    mask = mask_for(known, 9, 9)
    for dtype in DTYPES:
        result = "uint8" if known.uint8_only and dtype == "uint8" else "float32"
        assert bool(refusal_of(known, mask, dtype=dtype, result_dtype=result)) == (
            dtype not in known.picture_types
        )
    assert not refusal_of(known, mask, channels=MAX_CHANNELS)
    if not known.integer_output:
        assert "float32 results only" in refusal_of(known, mask, dtype="uint16", result_dtype="uint16")


@every_variant
def test_that_work_grows_as_declared(known):
    def flops(side):
        mask = mask_for(known, side, side)
        problem = typed(known, problem_of(512, 512, mask))
        return known.work(problem, known.default_block).flops / problem.samples

    if known.masks is MaskClass.ONE_ROW or known.block_covers_input:
        return
    small, large = 7 if known.least_side < 8 else 8, 11
    is_square = flops(large) / flops(small) > 0.9 * (large / small) ** 2
    assert is_square == (known.grows_with is Growth.CELLS)
