"""`cpu-separable`: a column times a row in one walk and in two passes."""

import numpy as np
import pytest

from engine.errors import UnsupportedVariant
from engine.geometry.block import Limits
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.variants.cpu import separable, two_passes
from engine.variants.cpu.row_sums import MOST_ROWS, product_rows
from engine.variants.ir.cpu_vectors import VECTOR
from tests.engine.variants.banded import BLOCK, NARROW_TILE_FLOATS, filtered


@pytest.mark.parametrize("sums_rows", [34, 46, 158])
@pytest.mark.parametrize("samples", [1, VECTOR, 1500, 12_288, 100_003])
def test_that_tiles_are_of_whole_vectors_and_their_sums_fit(sums_rows, samples):
    wide = two_passes.tile_samples(sums_rows, samples)
    assert wide % VECTOR == 0
    assert wide * sums_rows <= two_passes.TILE_FLOATS + VECTOR * sums_rows
    # As many tiles as have to be, so all about as wide.
    widest = min(two_passes.MOST_TILE_SAMPLES, two_passes.TILE_FLOATS // sums_rows)
    assert -(-samples // wide) <= -(-samples // widest)


@pytest.mark.parametrize("border", list(Border))
def test_that_a_column_times_a_row_is_right_for_all_numbers_of_rows(border):
    random = np.random.default_rng(10)
    # There is code for few rows of integers only.
    assert set(product_rows(whole_numbers=True)) <= set(product_rows(whole_numbers=False)) & set(range(8))
    assert max(product_rows(whole_numbers=False)) <= MOST_ROWS
    for dtype in ("float32", "uint8"):
        # Heights with and without rows that are taken together; widths with and without a middle part.
        for shape in ((3, 5, 2), (29, 150, 1), (60, 47, 3)):
            image = random.integers(0, 200, shape).astype(dtype)
            for rows in (*product_rows(dtype == "uint8"), 6, 8):
                mask = Mask(np.outer(random.integers(-4, 5, rows), random.integers(-4, 5, 4)))
                filtered(separable, image, mask, border)
                filtered(separable, image, gaussian(rows) if rows % 2 else mask, border, result_dtype=dtype)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("taps", range(1, 10))
def test_that_factors_that_are_the_same_from_both_ends_are_folded_rightly(taps, channels):
    random = np.random.default_rng(9)
    half = random.integers(1, 9, taps)
    for dtype in ("uint8", "uint16"):
        image = random.integers(0, np.iinfo(dtype).max, (7, 83, channels), dtype, endpoint=True)
        for row in (half + half[::-1], (half + half[::-1]) / 7):
            # In one walk, and in two passes.
            for column in ([1, 2, 4, 8], [1, 2, 4, 8, 16, 32]):
                assert (len(column) in product_rows(whole_numbers=True)) == (len(column) == 4)
                filtered(separable, image, Mask(np.outer(column, row)), Border.WRAP)


def test_that_masks_that_are_no_product_are_refused_in_words():
    problem = describe_problem(np.zeros((5, 5, 1), np.float32), gaussian(3), Border.ZERO, 0.0)
    refusal = separable.unsupported(problem, Mask(np.eye(3)), BLOCK, Limits())
    assert "its rank is 3" in refusal.reason
    assert "cpu-parallel takes every mask" in refusal.reason
    with pytest.raises(UnsupportedVariant, match="its rank is 3"):
        separable.prepare(problem, Mask(np.eye(3)), BLOCK)
    assert separable.unsupported(problem, gaussian(31), BLOCK, Limits()) is None


@pytest.mark.parametrize("border", list(Border))
def test_that_two_passes_keep_nan_and_infinity_where_the_direct_sum_has_them(border, monkeypatch):
    monkeypatch.setattr(two_passes, "TILE_FLOATS", NARROW_TILE_FLOATS)
    image = np.random.default_rng(8).standard_normal((50, 530, 1), np.float32)
    for row, column, strange in ((0, 0, np.inf), (20, 300, np.nan), (31, 511, -np.inf), (49, 529, np.inf)):
        image[row, column] = strange
    for mask in (
        gaussian(9),
        gaussian(15),
        *(Mask(np.outer(column, [0.5, 0, 0.1, 3])) for column in ([1, 0, 2], [1, 0, 2, 0, 0, 1])),
        Mask(np.outer([1, -1], [1, 2, 1])),
    ):
        filtered(separable, image, mask, border)
