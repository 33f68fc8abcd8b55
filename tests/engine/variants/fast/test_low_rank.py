"""`low-rank-2` and `low-rank-3`: what they refuse, and the error that they state."""

import re
from fractions import Fraction

import numpy as np
import pytest

from engine.geometry.block import UnsupportedVariant
from engine.geometry.border import Border
from engine.mask.factors import factor
from engine.mask.factors import low_rank as low_rank_factors
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.variants.fast import fused, fused_kernel
from engine.work.filter_task import describe_problem
from engine.work.filtering.oracle import rounding_bound
from engine.work.filtering.planner import holds_bound
from engine.work.filtering.variants import variant as filter_variant
from tests.engine.variants.cases import problem_of, verified
from tests.engine.variants.emitted import refused
from tests.engine.variants.executed import check_executed

TWO, THREE = fused.LOW_RANK_2, fused.LOW_RANK_3
RANDOM = np.random.default_rng(23)
NARROW, WIDE = gaussian(9, sigma=1.2).weights, gaussian(9, sigma=2.5).weights


# Of rank 1 as far as its largest weights tell, but its far tail is lost in float32 (docs/decisions/0003).
NO_PRODUCT = gaussian(15, sigma=0.5)


def sum_of(terms, rows, columns):
    products = [np.outer(RANDOM.standard_normal(rows), RANDOM.standard_normal(columns)) for _ in range(terms)]
    return Mask(np.sum(products, axis=0))


def reason_for(variant, mask, dtype="float32"):
    return refused(variant, problem_of(50, 60, mask, 3, dtype), mask)


def test_that_another_mask_is_refused_with_what_would_do():
    for variant, mask, words in [
        (TWO, gaussian(9), "one column times one row. Use separable-fused"),
        (TWO, sum_of(3, 9, 9), "rank is 3: it is not a sum of two columns times rows. Use low-rank-3."),
        (TWO, sum_of(5, 9, 9), "rank is 5: it is not a sum of two columns times rows. Use register-blocked"),
        (THREE, sum_of(4, 9, 9), "4: it is not a sum of three columns times rows. Use register-blocked"),
        (THREE, sum_of(2, 9, 9), "rank is 2, for which two columns and rows do. Use low-rank-2"),
        (THREE, NO_PRODUCT, "rank is 1, for which two columns and rows do. Use low-rank-2"),
        (TWO, Mask(np.zeros((9, 9))), "one column times one row. Use separable-fused"),
        (THREE, Mask(np.ones((1, 31))), "one column times one row. Use separable-fused"),
        (TWO, Mask(np.ones((127, 1))), "one column times one row. Use separable-l1"),
        (TWO, sum_of(2, 5, 5), "take 20 multiply-adds per result; the mask itself takes 25"),
        (THREE, sum_of(3, 7, 8), "take 45 multiply-adds per result; the mask itself takes 56"),
        (TWO, Mask(np.eye(9) * 3e38), "rank is 9"),
    ]:
        reason = reason_for(variant, mask)
        assert words in reason
        if named := re.search(r"Use ([a-z0-9-]+)", reason):
            assert reason_for(filter_variant(named[1]), mask) == ""
        with pytest.raises(UnsupportedVariant, match="in rows and columns"):
            variant.passes(problem_of(9, 9, mask), mask, variant.default_block)


@pytest.mark.parametrize(("variant", "terms"), [(TWO, 2), (THREE, 3)])
def test_that_masks_whose_results_must_be_exact_are_refused_for_whole_numbers_only(variant, terms):
    columns, rows = RANDOM.integers(-9, 9, (9, terms)), RANDOM.integers(-9, 9, (terms, 9))
    mask = Mask((columns @ rows).astype(float))
    assert "so few digits" in reason_for(variant, mask, "uint8")
    assert reason_for(variant, mask) == ""
    assert reason_for(variant, sum_of(terms, 9, 9), "uint16") == ""


def largest_error(mask, border, picture, cval):
    """Return the largest error of `low-rank-2`, which holds what it states."""
    image = RANDOM.uniform(-255, 255, picture).astype(np.float32)
    problem = describe_problem(image, mask, border, cval)
    result = check_executed(TWO, problem, mask, image)
    return verified(result, image, mask, problem, TWO.added_to(problem, mask, image)).max_error


@pytest.mark.slow
def test_that_a_mask_that_is_no_product_weight_by_weight_is_done_as_a_sum_of_two():
    assert not factor(NO_PRODUCT).separable
    assert low_rank_factors(NO_PRODUCT, 2).rank == 1
    assert reason_for(TWO, NO_PRODUCT) == reason_for(TWO, NO_PRODUCT, "uint8") == ""
    largest_error(NO_PRODUCT, Border.CONSTANT, (9, 11, 1), 0.0)


@pytest.mark.slow
def test_that_results_of_a_sum_whose_terms_nearly_cancel_hold_the_stated_error():
    assert largest_error(Mask(NARROW - WIDE), Border.CONSTANT, (21, 7, 1), 9.5) > 0.0


@pytest.mark.parametrize(
    ("legal", "other", "words"),
    [
        (1.0, np.inf, "Row 1, column 2, channel 0 of the picture is inf; low-rank-2"),
        (2.0**60, -(2.0**61), "The picture has samples up to 2.31e+18"),
    ],
    ids=["both signs may meet", "sums could overflow"],
)
def test_that_samples_are_refused_that_would_become_nan(legal, other, words):
    samples = np.full((3, 3, 1), legal, np.float32)
    assert TWO.refuse_samples(samples) is None
    samples[1, 2] = other
    refusal = TWO.refuse_samples(samples)
    assert str(refusal).startswith(words)


def test_that_the_bound_grows_only_where_weights_cancel():
    together, apart = Mask(NARROW + WIDE), Mask(NARROW - WIDE)
    problem = problem_of(50, 60, together)
    assert TWO.added_error(problem, together) == 0.0
    assert 0.0 < TWO.added_error(problem, apart) < 1e-7
    whole = problem_of(50, 60, together, dtype="uint8")
    assert holds_bound(TWO, whole, together)
    assert not holds_bound(TWO, whole, apart)
    # The samples have not been searched for infinity yet.
    assert not holds_bound(TWO, problem, together)


@pytest.mark.parametrize(("variant", "terms"), [(TWO, 2), (THREE, 3)])
def test_that_what_is_added_covers_the_worst_picture_of_one_magnitude(variant, terms):
    """The picture whose samples have the signs of what the factors leave out, and nothing cancels."""
    mask = sum_of(terms, 9, 9)
    problem = problem_of(9, 9, mask)
    (step,) = variant.passes(problem, mask, variant.default_block)
    rows, columns = step.arguments[1:3]
    exact = np.vectorize(lambda value: Fraction(float(value)), otypes=[object])
    left_out = np.abs(exact(mask.weights32) - exact(columns) @ exact(rows)).sum()
    magnitudes = np.abs(mask.weights32.astype(np.float64)).sum()
    granted = float(rounding_bound(np.array(magnitudes), mask.taps))
    assert float(left_out) <= granted + variant.added_error(problem, mask)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "shape", "picture", "multiprocessors"),
    [
        # The first two have the code of the tests above.
        (TWO, (9, 9), (37, 130, 1), 132),
        (TWO, (15, 15), (37, 130, 1), 1e-3),
        (THREE, (12, 40), (20, 40, 3), 132),
        (THREE, (40, 12), (20, 9, 4), 1e-3),
        pytest.param(TWO, (15, 9), (33, 20, 3), 132, marks=pytest.mark.matrix),
        pytest.param(THREE, (63, 63), (20, 9, 4), 1e-3, marks=pytest.mark.matrix),
    ],
)
def test_that_tiles_and_rings_agree_with_oracle_and_model(
    variant, shape, picture, multiprocessors, monkeypatch
):
    # Else pictures of this height are one strip, and small ones tiles.
    monkeypatch.setattr(fused_kernel, "rows_of_strips", lambda *_, step, least: step)
    monkeypatch.setattr(fused_kernel, "MULTIPROCESSORS", multiprocessors)
    mask, image = sum_of(variant.rank, *shape), RANDOM.uniform(0, 255, picture).astype(np.float32)
    check_executed(variant, describe_problem(image, mask, Border.CONSTANT, 2.5), mask, image)
