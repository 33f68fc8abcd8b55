import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.mask.analysis import analyse, describe
from engine.mask.float_step import EXACT_STEPS, step_of
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.mask.presets import preset

BELL = gaussian(9, sigma=1.5)


@pytest.mark.parametrize(
    ("mask", "rank", "symmetric", "antisymmetric"),
    [
        (preset("sobel-x"), 1, False, True),
        (preset("laplacian-4"), 2, True, False),
        (Mask(np.eye(9)), 9, True, False),
        (Mask(np.zeros((3, 4))), 0, True, True),
        (Mask([[5.0]]), 1, True, False),
        (Mask([[1, 2, 3]]), 1, False, False),
        (Mask([[1, 0], [0, -1]]), 2, False, True),
        # Squares of these overflow or underflow.
        *(
            (Mask(np.array([[1.0, 2.0], [2.0, 1.0]]) * scale), 2, True, False)
            for scale in (1e-44, 1e-40, 1e38)
        ),
        (Mask([[1e38, 1e-320], [1e-320, 0.0]]), 1, False, False),
        (BELL, 1, True, False),
        (BELL.with_weight(0, 0, BELL.weights[0, 0] + 1e-5), 2, False, False),
    ],
    ids=repr,
)
def test_that_rank_and_symmetry_are_known(mask, rank, symmetric, antisymmetric):
    facts = analyse(mask)
    assert (facts.rank, facts.separable) == (rank, rank < 2)
    assert (facts.is_point_symmetric, facts.is_point_antisymmetric) == (symmetric, antisymmetric)
    with np.errstate(over="ignore"):
        first, *others = np.linalg.svd(mask.weights / (np.abs(mask.weights).max() or 1.0), compute_uv=False)
    wanted = np.hypot.reduce(others, initial=0.0) / (np.hypot.reduce([first, *others]) or 1.0)
    assert facts.rank1_error == pytest.approx(0.0 if facts.separable else wanted, rel=1e-12)


# Products of these are 0 or normal float32 numbers, which have all their digits.
FACTOR_WEIGHTS = st.lists(
    st.floats(1e-15, 100) | st.floats(-100, -1e-15) | st.just(0.0), min_size=1, max_size=9
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(FACTOR_WEIGHTS, FACTOR_WEIGHTS)
def test_that_a_product_rounded_to_float32_is_separable(column, row):
    product = np.outer(column, row)
    weights = product.astype(np.float32)
    # One that rounding leaves with so few digits that sums of whole pictures are exact needs exact factors.
    is_short = weights.any() and np.abs(weights.astype(np.float64)).sum() < EXACT_STEPS * step_of(weights)
    assume(not is_short or np.array_equal(weights, product))
    facts = analyse(Mask(weights))
    assert (facts.separable, facts.rank, facts.rank1_error) == (True, int(weights.any()), 0.0)


SPIKED = Mask(np.outer([1.0, 1e-9, 1.0], [1.0, 1e-9, 2.0])).with_weight(1, 1, 1.1e-18)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (
            gaussian(31, sigma=1.0),
            "the weight in row 2, column 2 is 0, and column times row gives 1.181e-86. Float32 loses digits "
            "below 1.2e-38; a smaller mask may have no such weights.",
        ),
        (
            Mask([[4095, 4096], [4096, 4097]]),
            "the weight in row 1, column 1 is 4095, and column times row gives 4095.00024. Weights with so "
            "few digits must be exact, because their sums are exact.",
        ),
        (SPIKED, "the weight in row 2, column 2 is 1.1e-18, and column times row gives 1e-18."),
    ],
    ids=["a lost tail", "whole numbers", "a small weight"],
)
def test_that_a_mask_of_rank_1_that_is_not_separable_names_a_weight(mask, words):
    facts = analyse(mask)
    assert (facts.rank, facts.separable) == (1, False)
    assert 0.0 < facts.rank1_error < 1e-7
    sentence = describe(mask)[0]
    assert sentence.startswith("Not separable in float32: its rank is 1 only within the rounding")
    assert sentence.endswith(words)
    assert analyse(gaussian(15, sigma=1.0)).separable


BELL5 = preset("gaussian-5")


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (
            BELL5,
            "Separable: the product of a column of 5 and a row of 5 (10 instead of 25 multiplications",
        ),
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
    ],
)
def test_that_the_sentences_fit_the_mask(mask, words):
    assert any(words in sentence for sentence in describe(mask))
