"""The columns and rows that a mask is the sum of: how many, and what they leave out."""

import numpy as np
import pytest

from engine.mask.generators import gaussian, laplacian_of_gaussian
from engine.mask.low_rank import low_rank
from engine.mask.mask import Mask

RANDOM = np.random.default_rng(8)


def sum_of(terms, rows, columns, scale=1.0):
    products = [np.outer(RANDOM.standard_normal(rows), RANDOM.standard_normal(columns)) for _ in range(terms)]
    return Mask(scale * np.sum(products, axis=0))


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("terms", [1, 2, 3])
@pytest.mark.parametrize("shape", [(9, 9), (33, 63), (6, 40)])
def test_that_a_sum_of_products_is_found_after_rounding_to_float32(shape, terms, scale):
    mask = sum_of(terms, *shape, scale)
    found = low_rank(mask, terms)
    assert found.rank == terms
    # The mask, the columns and the rows have been rounded, each by 2^-24 of itself.
    largest = found.magnitudes.max() + np.abs(mask.weights32).max()
    assert np.abs(found.left_out).max() <= 4 * 2.0**-24 * largest


def test_that_what_is_left_out_is_that_of_the_rounded_columns_and_rows_and_rows_add_up_to_1_at_most():
    mask = sum_of(3, 9, 9)
    found = low_rank(mask, 2)
    assert found.rank == 3
    products = found.columns.astype(np.float64)[:, np.newaxis, :] * found.rows.T[np.newaxis, :, :]
    np.testing.assert_allclose(found.left_out, mask.weights32 - products.sum(axis=2), rtol=0, atol=1e-15)
    assert np.abs(found.left_out).max() > 1e-3
    # The weights of a row add up to at most 1, so no value between the passes is larger than a sample.
    found = low_rank(sum_of(3, 15, 31, 1e20), 3)
    assert np.all(np.abs(found.rows).sum(axis=1, dtype=np.float64) <= 1.0)


RANKS = {
    gaussian(9): 1,
    Mask(gaussian(9, sigma=1.0).weights - gaussian(9, sigma=2.0).weights, name="difference of Gaussians"): 2,
    laplacian_of_gaussian(15): 3,
    Mask(np.eye(7)): 7,
    Mask(np.zeros((4, 4))): 0,
    Mask([[2.0]]): 1,
}


@pytest.mark.parametrize(("mask", "rank"), RANKS.items(), ids=repr)
def test_that_masks_have_the_rank_that_they_are_known_to_have(mask, rank):
    assert low_rank(mask, 2).rank == rank
