"""Two passes: ghost rows, NaN and infinity, extreme numbers, refusals, aprons; the source is run."""

import itertools
import re

import numpy as np
import pytest

from engine.geometry.block import Block, Limits, UnsupportedVariant
from engine.geometry.border import Border
from engine.mask.factors import factor
from engine.mask.generators import box, gaussian
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.variants import mask_classes
from engine.work.filter_task import describe_problem
from engine.work.filtering.oracle import is_exact_class
from engine.work.filtering.variants import variant
from tests.engine.variants.cases import problem_of, result_of, verified

SEPARABLE = [variant(key) for key in ("separable-l0", "separable-l1", "separable-l2")]
every_variant = pytest.mark.parametrize("known", SEPARABLE, ids=lambda known: known.key)
SMALL_BLOCK, DEFAULT_BLOCK = Block(4, 3), Block(32, 8)


def agrees(known, image, mask, border=Border.MIRROR, cval=0.0, block=SMALL_BLOCK):
    """Run a variant's source on a picture (H x W), have the result verified, and return it."""
    samples = np.ascontiguousarray(image)[:, :, np.newaxis]
    problem = describe_problem(samples, mask, border, cval)
    assert known.unsupported(problem, mask, block, Limits()) is None
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        result = result_of(known, problem, mask, block, samples)
    verified(result, samples, mask, problem)
    return result


BORDERS = list(Border)


@pytest.mark.slow
def test_that_whole_numbers_are_exact_under_every_border():
    image = np.random.default_rng(1).integers(0, 256, (5, 6), np.uint8)
    masks = (
        Mask([[2, 4], [3, 6]], anchor=(1, 0), offset=5.0),
        preset("sobel-y"),
        Mask(np.outer([1, 4, 6, 4, 1], [1, 2, 1]) / 64),
    )
    for number, border in enumerate(BORDERS):
        mask = masks[number // 2]
        assert is_exact_class(image, mask, 7.0)
        assert np.isfinite(agrees(SEPARABLE[number % 3], image, mask, border, 7.0)).all()


@pytest.mark.slow
@every_variant
def test_that_a_ghost_row_is_the_ghost_value_times_the_sum_of_the_rows_weights(known):
    # Every cell is a ghost cell or 0: the whole result is what ghost rows and columns give.
    mask = Mask(np.outer([1, 2, 3, 4, 5], [1, 10, 100]))
    result = agrees(known, np.zeros((1, 1), np.uint8), mask, Border.CONSTANT, 2.0)
    assert result.tolist() == [[[2.0 * (mask.total - mask.weights[2, 1])]]]
    problem = problem_of(1, 1, mask, border=Border.CONSTANT, cval=2.0)
    factors = factor(mask)
    assert mask_classes.ghost_row_value(problem, factors) == 2.0 * factors.row.sum()


# All of one shape, which have the same code.
FACTORS = (
    ([1, 0, 2], [0.5, 0.25, 0.1]), ([0.1, -0.2, 0], [1, 0, -3]), ([0, 0, 0], [1, 2, 0]),
    ([1e-18, 1, 0], [0, 1, 1e-18]),
)  # fmt: skip


@pytest.mark.slow
@every_variant
def test_that_nan_and_infinity_spread_as_in_the_direct_sum(known):
    image, first = np.random.default_rng(2).standard_normal((6, 7)).astype(np.float32), SEPARABLE.index(known)
    # Each pair of factors with each of these in some variant.
    for number, (column, row) in enumerate(FACTORS, first):
        bad = image.copy()
        bad[2, 3] = (np.nan, np.inf, -np.inf)[number % 3]
        agrees(known, bad, Mask(np.outer(column, row)), BORDERS[first + 3], -2.5)
    bad = image.copy()
    bad[1, 1], bad[3, 3] = np.inf, -np.inf
    result = agrees(known, bad, box(3), BORDERS[first + 3], 3.0)
    assert np.isnan(result).any()
    assert np.isinf(result).any()


@pytest.mark.slow
@every_variant
def test_that_nothing_overflows_between_the_passes(known):
    image = np.full((4, 5), np.finfo(np.float32).max / 2, np.float32)
    assert np.isfinite(agrees(known, image, box(3), Border.ZERO)).all()
    # The huge sample is only ever multiplied by 0: its row's weights are 1e30, its column's 0.
    image = np.ones((4, 5), np.float32)
    image[0] = 1e20
    weights = np.zeros((3, 3))
    weights[2, 1] = 1e30
    result = agrees(known, image, Mask(weights), Border.ZERO)
    assert result[1, :, 0].tolist() == [float(np.float32(1e30))] * 5
    # Here by 1e20, and in the first row by 1e30, where the direct sum overflows too.
    image = np.zeros((2, 3), np.float32)
    image[0] = 1e15
    result = agrees(known, image, Mask(np.outer([1e20, 1e30], [1.0, 0.5])), Border.ZERO)
    assert np.isfinite(result[1]).all()
    assert np.isinf(result[0]).all()


@pytest.mark.slow
def test_that_extreme_weights_and_the_smallest_masks_agree():
    random, variants = np.random.default_rng(3), itertools.cycle(SEPARABLE)
    image = random.random((5, 6)).astype(np.float32)
    for scale in (1e-30, 1e30):
        agrees(next(variants), image, Mask(gaussian(5, sigma=1.2).weights * scale))
        agrees(next(variants), image, Mask(np.outer([1, 0.3], [1, scale, 0.7])))
    # One bright pixel on black, far from the middle of a Gaussian that falls to 1e-18 of it.
    image = np.zeros((9, 9), np.float32)
    image[0, 0] = 255.0
    assert 0.0 < agrees(next(variants), image, gaussian(17, sigma=1.25), Border.ZERO)[8, 8, 0] < 1e-15
    # The worst case of these is beyond the bound; half of it is the most that was ever seen.
    for shape in ((2, 2), (2, 3), (4, 2)):
        mask = Mask(np.outer(*(random.standard_normal(side) for side in shape)), offset=0.3)
        agrees(next(variants), random.random((9, 9)).astype(np.float32), mask)


@pytest.mark.slow
@every_variant
def test_that_aprons_wider_than_the_block_agree(known):
    image = np.random.default_rng(3).integers(0, 256, (5, 7), np.uint8)
    for anchor in ((0, 0), (6, 10), (3, 5)):
        agrees(known, image, Mask(np.ones((7, 11)), anchor), Border.REFLECT, block=Block(2, 2))
    agrees(known, image, Mask(np.ones((7, 11))), Border.CONSTANT, 4.0, Block(1, 1))


def refusal_of(known, mask, block=DEFAULT_BLOCK):
    return known.unsupported(problem_of(50, 60, mask), mask, block, Limits())


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (preset("laplacian-4"), "its rank is 2, and the best rank-1 approximation has 10 % error"),
        (
            gaussian(31, sigma=1.0),
            "only within the rounding of its largest weights.*column 2 is 0, and column",
        ),
    ],
    ids=["rank 2", "lost weights"],
)
@every_variant
def test_that_a_mask_that_is_no_product_is_never_prepared(known, mask, sentence):
    refusal = refusal_of(known, mask)
    assert re.search(f"{sentence}.*'tiled' and 'naive' take every mask", str(refusal))
    assert refusal.nearest_block is None
    with pytest.raises(UnsupportedVariant, match=sentence):
        known.passes(problem_of(9, 9, mask), mask, Block(8, 8))
