"""What a mask is a product or a sum of, and the words on it, against sums written out."""

import cmath
import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.geometry.border import Border
from engine.mask.analysis import (
    POINTS,
    analyse,
    describe,
    describe_sum,
    examine,
    frequency_response,
    kept_in_a_corner,
    pixels_at_borders,
)
from engine.mask.factors import EXACT_STEPS, factor, low_rank, split, step_of
from engine.mask.generators import box, gaussian, generate, laplacian_of_gaussian
from engine.mask.mask import Mask
from engine.mask.presets import preset, presets

RANDOM = np.random.default_rng(11)
small = st.lists(st.integers(-2000, 2000), min_size=1, max_size=9)
LINES = [0.1], [0.0], [0.1, 1e-30, 1e30, 0.0], RANDOM.standard_normal(127)
WIDE = itertools.product((2, 3, 5, 8, 31, 63), (3.5, 6.0, 10.5, 100.0))
FAR_APART = ([1e15, 1e-15], [1e15, 1.0, 1e-15]), ([1.0, 3.0], [1e30, 1e-30]), ([1e-25, 1e25], [2e-5, 0.1])
BELL = gaussian(9, sigma=1.5)
# Products of these are 0 or normal float32 numbers, which have all their digits.
FACTOR_WEIGHTS = st.lists(
    st.floats(1e-15, 100) | st.floats(-100, -1e-15) | st.just(0.0), min_size=1, max_size=9
)
SPIKED = Mask(np.outer([1.0, 1e-9, 1.0], [1.0, 1e-9, 2.0])).with_weight(1, 1, 1.1e-18)
BELL5 = preset("gaussian-5")


def product_of(factors):
    """Return column times row, exact in float64."""
    assert factors.column.dtype == factors.row.dtype == np.float32
    return np.outer(factors.column.astype(np.float64), factors.row.astype(np.float64))


def assert_every_weight_is_given(mask):
    """Check each cell against the documented roundings, apart from what `Factors` says of itself."""
    factors = factor(mask)
    assert factors.separable, (factors.roundings, factors.worst_cell)
    weights, product = mask.weights32.astype(np.float64), product_of(factors)
    rows, columns = max(1, weights.any(axis=1).sum()), max(1, weights.any(axis=0).sum())
    roundings = 4 * (1 - 1 / rows) * (1 - 1 / columns) + 2
    assert np.all(np.abs(product - weights) <= 1.0001 * roundings * 2.0**-24 * np.abs(weights))
    assert np.array_equal(product == 0.0, weights == 0.0)
    # Nothing overflows between the passes; more only where the column would.
    is_scaled = np.abs(factors.row.astype(np.float64)).sum() <= 1.0 or factors.column.max() >= 2.0**126
    assert is_scaled or min(mask.shape) == 1
    return factors


def lone(row, column):
    """Return a mask of zeros but for one weight."""
    weights = np.zeros((5, 4))
    weights[row, column] = -0.1
    return weights


TEXTBOOK = "sobel-x", "sobel-y", "scharr-x", "prewitt-y", "box-3", "box-5", "gaussian-3", "gaussian-7"
EXACT = (
    *(preset(name).weights for name in TEXTBOOK),
    [[2, 4], [3, 6]],
    [[6, -9, 15], [-4, 6, -10]],
    [[0, 0, 0], [3, 0, 6], [5, 0, 10]],
    np.outer([1, 6, 15, 20, 15, 6, 1], [1, 8, 28, 56, 70, 56, 28, 8, 1]),
    np.outer([3, 5, 7], [11, 13, 17]) / 1024,
    np.outer([4095, 1], [4096, 4095]),
    np.outer([1, 2.0**-30], [1, 3]),
    np.zeros((3, 4)),
    *(lone(*cell) for cell in itertools.product((0, 1, 4), (0, 2, 3))),
)


def test_that_textbook_masks_and_whole_numbers_over_a_power_of_two_have_exact_factors():
    for weights in EXACT:
        factors = assert_every_weight_is_given(Mask(weights))
        assert factors.roundings == 0.0
        assert np.array_equal(product_of(factors), Mask(weights).weights32)


@settings(max_examples=100)
@given(small, small, st.integers(-20, 20))
def test_that_products_of_whole_numbers_and_of_subnormal_ones_have_exact_factors(column, row, exponent):
    mask = Mask(np.outer(column, row) * 2.0**exponent)
    assert assert_every_weight_is_given(mask).roundings == 0.0
    for weights in (np.outer([1, 1], [1e38, 1e-44]), np.array([[1, 2], [2, 4]]) * 2.0**-145):
        assert factor(Mask(weights)).roundings == 0.0


def test_that_a_single_line_is_its_own_factor():
    for line in LINES:
        for mask in (Mask([line]), Mask([line]).transposed()):
            factors = assert_every_weight_is_given(mask)
            assert factors.roundings == 0.0
            along, across = (factors.row, factors.column) if mask.rows == 1 else (factors.column, factors.row)
            assert np.array_equal(along, mask.weights32.ravel())
            assert across.tolist() == [1.0]


def test_that_a_gaussian_has_factors_down_to_its_far_tail_and_one_that_float32_has_lost_is_found():
    # With the case that singular vectors get wrong: their error is 2^-53 of the largest weight.
    for side, sigma in [*WIDE, (5, 0.5), (9, 0.7), (15, 1.0), (31, 2.0)]:
        assert_every_weight_is_given(gaussian(side, sigma=sigma))
    for side, sigma in [(3, 0.1), (9, 0.3), (31, 1.0), (63, 2.0), (63, 3.3)]:
        mask = gaussian(side, sigma=sigma)
        factors = factor(mask)
        assert not factors.separable
        weight, product = mask.weights32[factors.worst_cell], product_of(factors)[factors.worst_cell]
        assert abs(weight) < 2.0**-126
        assert weight != product


def test_that_factors_are_remembered_unchanged():
    # A product of numbers that was rounded to float32. Its largest weight's row and column alone would give
    # another weight with 3.84 roundings, which is more than a product can have.
    product = [
        [5304728.0, 4630187.0, 570984.9375],
        [9813882.0, 8565964.0, 1056336.5],
        [3454767.0, 3015464.25, 371860.6875],
    ]
    assert factor(Mask(product)).separable
    assert factor(Mask(product)).roundings < 2.0
    for trial in range(300):
        shape = RANDOM.integers(1, 10, 2) if trial % 50 else (63, 63)
        weights = np.outer(*(RANDOM.standard_normal(side) for side in shape))
        assert_every_weight_is_given(Mask(weights if trial % 2 else weights.astype(np.float32)))
    factors = factor(box(5))
    assert factor(box(5).with_anchor((0, 0)).with_offset(3.0)) is factors
    with pytest.raises(ValueError, match="read-only"):
        factors.row[0] = 1.0


def test_that_factors_neither_overflow_nor_vanish():
    for scale in [1e-30, 1e-5, 1.0, 1e30, 1e37]:
        for shape in ((2, 2), (3, 5), (63, 63)):
            column, row = (RANDOM.uniform(0.1, 1.0, side) for side in shape)
            factors = assert_every_weight_is_given(Mask(np.outer(column, row) * scale))
            assert np.abs(factors.row).sum() > 0.49
    for column, row in FAR_APART:
        factors = factor(Mask(np.outer(column, row)))
        assert factors.separable
        assert np.isfinite(factors.column).all()


NO_PRODUCTS = (
    preset("laplacian-4"),
    preset("log-9"),
    Mask(np.eye(3)),
    Mask([[0, 1], [1, 0]]),
    Mask([[1, 1], [1, 1 + 2.0**-20]]),
    Mask([[1, 1], [1, 0]]),
    # Products within rounding, but sums of whole pixels are exact with them.
    Mask([[2047, 2048], [2048, 2049]]),
    Mask(np.array([[4095, 4096], [4096, 4097]]) / 4096),
    Mask(np.outer([1, 1e-9], [1, 1e-9])).with_weight(1, 1, 1.001e-18),
    # Few digits of a product.
    Mask(np.round(gaussian(5, sigma=1.0).weights, 6)),
)


def test_that_what_is_no_product_has_no_factors():
    for mask in NO_PRODUCTS:
        factors = factor(mask)
        assert not factors.separable
        assert factors.roundings > factors.allowed


def sum_of(terms, rows, columns, scale=1.0):
    products = [np.outer(RANDOM.standard_normal(rows), RANDOM.standard_normal(columns)) for _ in range(terms)]
    return Mask(scale * np.sum(products, axis=0))


def test_that_a_sum_of_products_is_found_after_rounding_to_float32_and_what_it_leaves_out():
    for shape in [(9, 9), (33, 63), (6, 40)]:
        for terms in [1, 2, 3]:
            for scale in [1.0, 1e-30, 1e30]:
                mask = sum_of(terms, *shape, scale)
                found = low_rank(mask, terms)
                assert found.rank == terms
                # The mask, the columns and the rows have been rounded, each by 2^-24 of itself.
                largest = found.magnitudes.max() + np.abs(mask.weights32).max()
                assert np.abs(found.left_out).max() <= 4 * 2.0**-24 * largest
    mask = sum_of(3, 9, 9)
    found = low_rank(mask, 2)
    assert found.rank == 3
    products = found.columns.astype(np.float64)[:, np.newaxis, :] * found.rows.T[np.newaxis, :, :]
    np.testing.assert_allclose(found.left_out, mask.weights32 - products.sum(axis=2), rtol=0, atol=1e-15)
    assert np.abs(found.left_out).max() > 1e-3
    # The weights of a row add up to at most 1, so no value between the passes is larger than a sample.
    found = low_rank(sum_of(3, 15, 31, 1e20), 3)
    assert np.all(np.abs(found.rows).sum(axis=1, dtype=np.float64) <= 1.0)
    difference = gaussian(9, sigma=1.0).weights - gaussian(9, sigma=2.0).weights
    ranks = {gaussian(9): 1, Mask(difference): 2, laplacian_of_gaussian(15, 2.5): 3, Mask(np.eye(7)): 7}
    for mask, rank in (ranks | {Mask(np.zeros((4, 4))): 0, Mask([[2.0]]): 1}).items():
        assert low_rank(mask, 2).rank == rank


def test_that_rank_and_symmetry_are_known():
    for mask, rank, symmetric, antisymmetric in [
        (preset("sobel-x"), 1, False, True),
        (preset("laplacian-4"), 2, True, False),
        (Mask(np.eye(9)), 9, True, False),
        (Mask(np.zeros((3, 4))), 0, True, True),
        (Mask([[5.0]]), 1, True, False),
        (Mask([[1, 2, 3]]), 1, False, False),
        (Mask([[1, 0], [0, -1]]), 2, False, True),
        # Squares of these overflow or underflow.
        *((Mask(np.array([[1, 2], [2, 1]]) * scale), 2, True, False) for scale in (1e-44, 1e-40, 1e38)),
        (Mask([[1e38, 1e-320], [1e-320, 0.0]]), 1, False, False),
        (BELL, 1, True, False),
        (BELL.with_weight(0, 0, BELL.weights[0, 0] + 1e-5), 2, False, False),
    ]:
        facts = analyse(mask)
        assert (facts.rank, facts.separable) == (rank, rank < 2)
        assert (facts.is_point_symmetric, facts.is_point_antisymmetric) == (symmetric, antisymmetric)
        with np.errstate(over="ignore"):
            scaled = mask.weights / (np.abs(mask.weights).max() or 1.0)
        first, *others = np.linalg.svd(scaled, compute_uv=False)
        wanted = np.hypot.reduce(others, initial=0.0) / (np.hypot.reduce([first, *others]) or 1.0)
        assert facts.rank1_error == pytest.approx(0.0 if facts.separable else wanted, rel=1e-12)


@pytest.mark.slow
@settings(max_examples=60)
@given(FACTOR_WEIGHTS, FACTOR_WEIGHTS)
def test_that_a_product_rounded_to_float32_is_separable(column, row):
    product = np.outer(column, row)
    weights = product.astype(np.float32)
    # One that rounding leaves with so few digits that sums of whole pictures are exact needs exact factors.
    is_short = weights.any() and np.abs(weights.astype(np.float64)).sum() < EXACT_STEPS * step_of(weights)
    assume(not is_short or np.array_equal(weights, product))
    facts = analyse(Mask(weights))
    assert (facts.separable, facts.rank, facts.rank1_error) == (True, int(weights.any()), 0.0)


def test_that_a_mask_of_rank_1_that_is_not_separable_names_a_weight():
    for mask, words in [
        (gaussian(31, sigma=1.0), "row 2, column 2 is 0, and column times row gives 1.181e-86."),
        (Mask([[4095, 4096], [4096, 4097]]), "row 1, column 1 is 4095, and column times row gives 4095.0002"),
        (SPIKED, "row 2, column 2 is 1.1e-18, and column times row gives 1e-18."),
    ]:
        facts = analyse(mask)
        assert (facts.rank, facts.separable) == (1, False)
        assert 0.0 < facts.rank1_error < 1e-7
        sentence = describe(mask)[0].sentence
        assert sentence.startswith("Not separable in float32: its rank is 1 only within the rounding")
        assert words in sentence
    assert analyse(gaussian(15, sigma=1.0)).separable


def test_that_the_sentences_fit_the_mask():
    for mask, words in [
        (BELL5, "Separable: the product of a column of 5 and a row of 5 (10 instead of 25 multiplications"),
        (BELL5, "The weights add up to 1: a uniform area keeps its brightness."),
        (BELL5, "Unchanged by a 180° turn: correlation and convolution agree."),
        (BELL5, "None of its 25 cells is 0; the largest weight, 0.140625, is in row 3, column 3."),
        (Mask([[0, 0]]), "Every weight is 0: the result is the offset everywhere."),
        (Mask([[1e-320, 1e-320]]), "Every weight is 0 in float32"),
        (Mask([[2]]), "A single cell"),
        (Mask([[1, 2, 3]]), "One-dimensional: 3 multiplications per pixel"),
        (preset("log-9"), "Not separable: its rank is 5"),
        (preset("sobel-x"), "a uniform area becomes 0"),
        (preset("sobel-x").with_offset(128), "a uniform area becomes 128"),
        (Mask([[3, 1]]), "The weights add up to 4"),
        (Mask([[3, 1]], offset=2.0), "and 2 is added"),
        (Mask([[1]], offset=2.0), "is shifted by 2"),
        (preset("sobel-x"), "flips its sign"),
        (preset("box-3").with_anchor((0, 0)), "Changed by a 180° turn"),
        (Mask([[0, 1, 1]]), "1 of its 3 cells is 0"),
        (preset("sobel-x"), "3 of its 9 cells are 0; the largest weight, -2, is in row 2, column 1."),
    ]:
        assert any(words in fact.sentence for fact in describe(mask))


UNIT = 2.0**-53


def test_that_a_magnitude_is_the_sum_over_the_cells():
    for name in ["sobel-x", "gaussian-5", "emboss", "motion-diagonal"]:
        mask, middle = preset(name), POINTS // 2
        response = frequency_response(mask)
        for row, column in [(0, 0), (3, 9), (-20, 5), (-64, 63), (17, -64)]:
            terms = [
                weight * cmath.exp(-2j * cmath.pi * (row * m + column * n) / POINTS)
                for (m, n), weight in np.ndenumerate(mask.weights)
            ]
            found = response.magnitude[middle + row, middle + column]
            # A transform of 128 x 128 has 14 levels; a few roundings in each and in the sum here.
            assert abs(found - abs(sum(terms))) <= 8 * (14 + mask.taps) * UNIT * mask.magnitude


def test_that_the_gain_at_zero_is_the_sum_and_the_strongest_frequency_is_named():
    sobel = frequency_response(preset("sobel-x"))
    assert (sobel.gain_at_zero, sobel.largest, sobel.strongest) == (0.0, pytest.approx(8.0), (0.25, 0.0))
    assert frequency_response(preset("gaussian-5")).strongest == (0.0, 0.0)
    assert frequency_response(generate("box:127x1")).largest == pytest.approx(1.0)


def test_that_two_factors_are_the_mask_within_its_rounding():
    for entry in presets():
        factors = split(entry.mask)
        known = examine(entry.mask)
        assert known.factors == factors
        if factors is None:
            assert not known.facts.separable or min(entry.mask.shape) == 1
            continue
        column, row = factors
        assert (column.shape, row.shape) == ((entry.mask.rows, 1), (1, entry.mask.columns))
        assert (column.anchor[0], row.anchor[1]) == entry.mask.anchor
        product = column.weights @ row.weights
        # What the module of the factors allows: 4 roundings of a weight to float32, and one each of the two.
        assert (np.abs(product - entry.mask.weights32) <= 7 * 2.0**-24 * np.abs(entry.mask.weights)).all()
    # Whole numbers split into whole numbers.
    column, row = split(preset("sobel-x").with_offset(128.0))
    assert sorted((column.weights.ravel().tolist(), row.weights.ravel().tolist())) == [[-1, 0, 1], [1, 2, 1]]
    assert (column.offset, row.offset) == (0.0, 128.0)
    assert row.name == "Sobel x, row" or not row.name


def test_that_singular_values_give_the_rank():
    known = examine(preset("outline"))
    values = np.array(known.singular_values)
    assert np.count_nonzero(values > 2.0**-24 * values[0]) == known.facts.rank == 2
    assert np.sqrt((values**2).sum()) == pytest.approx(np.linalg.norm(known.mask.weights), rel=1e-14)


def test_that_pixels_at_borders_are_counted():
    for mask in [preset("sobel-x"), generate("box:4x6"), Mask([[1]]), Mask([[1, 2]], (0, 0))]:
        for height, width in [(5, 7), (2, 2), (1, 9), (30, 20)]:
            tops, lefts = np.indices((height, width)) - np.reshape(mask.anchor, (2, 1, 1))
            is_within = (tops >= 0) & (tops <= height - mask.rows)
            within = np.sum(is_within & (lefts >= 0) & (lefts <= width - mask.columns))
            assert pixels_at_borders(mask, height, width) == height * width - within


def test_that_a_corner_keeps_what_lies_within_and_sums_within_rounding_are_named_as_they_are_meant():
    assert kept_in_a_corner(preset("box-3"), Border.ZERO) == pytest.approx(4 / 9)
    assert kept_in_a_corner(preset("box-3"), Border.MIRROR) is None
    assert kept_in_a_corner(preset("sobel-x"), Border.ZERO) is None
    assert describe_sum(generate("gabor:9")).short == "The weights add up to 0"
