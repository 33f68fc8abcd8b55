import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.mask.analysis import analyse, describe
from engine.mask.float_step import EXACT_STEPS, step_of
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.mask.presets import preset


def test_that_sobel_falls_into_its_textbook_factors():
    facts = analyse(preset("sobel-x"))
    assert (facts.rank, facts.separable, facts.rank1_error) == (1, True, 0.0)
    assert facts.column.tolist() == [1, 2, 1]
    assert facts.row.tolist() == [-1, 0, 1]
    assert (facts.is_symmetric_up_down, facts.is_symmetric_left_right) == (True, False)
    assert (facts.is_point_symmetric, facts.is_point_antisymmetric) == (False, True)
    assert (facts.total, facts.magnitude, facts.zeros, facts.largest_cell) == (0.0, 8.0, 3, (1, 0))


def test_that_the_laplacian_is_symmetric_in_every_way_and_has_rank_2():
    facts = analyse(preset("laplacian-4"))
    assert (facts.rank, facts.separable) == (2, False)
    assert facts.is_symmetric_left_right
    assert facts.is_symmetric_up_down
    assert facts.is_point_symmetric
    singular = np.linalg.svd(preset("laplacian-4").weights, compute_uv=False)
    assert facts.rank1_error == pytest.approx(singular[1] / np.hypot(*singular[:2]), rel=1e-12)


@pytest.mark.parametrize(
    ("weights", "rank"),
    [(np.eye(9), 9), (np.zeros((3, 4)), 0), ([[5.0]], 1), ([[1, 2, 3]], 1), ([[1, 0], [0, -1]], 2)],
)
def test_that_the_rank_is_known(weights, rank):
    assert analyse(Mask(weights)).rank == rank


# Products of these are 0 or normal float32 numbers, which have all their digits.
FACTOR_WEIGHTS = st.lists(
    st.floats(1e-15, 100) | st.floats(-100, -1e-15) | st.just(0.0), min_size=1, max_size=9
)


@settings(max_examples=60, deadline=None)
@given(FACTOR_WEIGHTS, FACTOR_WEIGHTS)
def test_that_a_product_rounded_to_float32_is_separable_and_its_factors_give_it(column, row):
    product = np.outer(column, row)
    weights = product.astype(np.float32)
    # One that rounding leaves with so few digits that sums of whole pictures are exact needs exact factors.
    is_short = weights.any() and np.abs(weights.astype(np.float64)).sum() < EXACT_STEPS * step_of(weights)
    assume(not is_short or np.array_equal(weights, product))
    facts = analyse(Mask(weights))
    assert facts.separable
    assert (facts.rank, facts.rank1_error) == (int(weights.any()), 0.0)
    # Six roundings at most: `engine.mask.factors`.
    error = np.abs(np.outer(facts.column, facts.row) - weights)
    assert np.all(error <= 6.001 * 2.0**-24 * np.abs(weights.astype(np.float64)))


def test_that_a_change_above_float32_rounding_raises_the_rank():
    mask = gaussian(9, sigma=1.5)
    changed = mask.with_weight(0, 0, mask.weights[0, 0] + 1e-5)
    assert analyse(mask).rank == 1
    assert analyse(changed).rank == 2
    assert 0.0 < analyse(changed).rank1_error < 1e-3


@pytest.mark.parametrize("scale", [1e-44, 1e-40, 1e38])
def test_that_extreme_weights_are_analysed_without_overflow(scale):
    facts = analyse(Mask(np.array([[1.0, 2.0], [2.0, 1.0]]) * scale))
    assert facts.rank == 2
    assert np.isfinite(facts.rank1_error)


def test_that_weights_far_apart_are_analysed_without_overflow():
    assert analyse(Mask([[1e38, 1e-320], [1e-320, 0.0]])).rank == 1


def test_that_weights_that_float32_makes_0_are_told_as_such():
    mask = Mask(np.array([[1.0, 2.0], [2.0, 1.0]]) * 1e-320)
    assert (analyse(mask).rank, analyse(mask).separable) == (0, True)
    assert describe(mask)[0] == "Every weight is 0 in float32: the result is the offset everywhere."


def test_that_whole_number_factors_stay_within_float32():
    facts = analyse(Mask([[1.0, 1.0], [2.0**-30, 2.0**-30]]))
    assert facts.separable
    assert facts.column.max() < 2.0**24


def test_that_a_mask_whose_far_tail_is_lost_in_float32_is_told_by_a_weight():
    mask = gaussian(31, sigma=1.0)
    facts = analyse(mask)
    assert (facts.rank, facts.separable) == (1, False)
    assert 0.0 < facts.rank1_error < 1e-7
    head, colon, rest = describe(mask)[0].partition(":")
    assert (head, colon) == ("Not separable in float32", ":")
    assert "the weight in row 2, column 2 is 0, and column times row gives 1.181e-86." in rest
    assert "a smaller mask may have no such weights" in rest
    assert analyse(gaussian(15, sigma=1.0)).separable


def test_that_whole_numbers_that_are_a_product_only_within_rounding_are_told_by_a_weight():
    sentence = describe(Mask([[4095, 4096], [4096, 4097]]))[0]
    assert "row 1, column 1 is 4095, and column times row gives 4095.00024" in sentence
    assert sentence.endswith("Weights of so few digits must be given exactly, because their sums are exact.")


def test_that_one_small_weight_that_is_off_keeps_a_mask_of_rank_1_from_being_separable():
    mask = Mask(np.outer([1.0, 1e-9, 1.0], [1.0, 1e-9, 2.0]))
    changed = mask.with_weight(1, 1, 1.1e-18)
    assert analyse(mask).separable
    assert (analyse(changed).rank, analyse(changed).separable) == (1, False)
    assert describe(changed)[0].endswith(
        "the weight in row 2, column 2 is 1.1e-18, and column times row gives 1e-18."
    )


def test_that_facts_are_told_in_sentences():
    sentences = describe(preset("gaussian-5"))
    assert sentences[0] == (
        "Separable: a column of 5 times a row of 5 gives it (10 instead of 25 multiplications per pixel)."
    )
    assert sentences[1] == "The weights add up to 1: an even area keeps its brightness."
    assert "Unchanged by a 180° turn" in sentences[2]
    assert sentences[3] == "None of its 25 cells is 0; the largest weight, 0.140625, is in row 3, column 3."


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (Mask([[0, 0]]), "Every weight is 0"),
        (Mask([[2]]), "A single cell"),
        (Mask([[1, 2, 3]]), "One-dimensional: 3 multiplications per pixel"),
        (preset("log-9"), "Not separable: its rank is 5"),
        (preset("sobel-x"), "an even area becomes 0"),
        (preset("sobel-x").with_offset(128), "an even area becomes 128"),
        (Mask([[3, 1]]), "The weights add up to 4"),
        (Mask([[3, 1]], offset=2.0), "and 2 is added"),
        (Mask([[1]], offset=2.0), "is shifted by 2"),
        (preset("sobel-x"), "flips its sign"),
        (preset("box-3").with_anchor((0, 0)), "Changed by a 180° turn"),
        (Mask([[0, 1, 1]]), "1 of its 3 cells is 0"),
        (preset("sobel-x"), "3 of its 9 cells are 0"),
    ],
)
def test_that_the_sentences_fit_the_mask(mask, words):
    assert any(words in sentence for sentence in describe(mask))
