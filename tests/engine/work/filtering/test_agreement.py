"""Problem, oracle and judge: mathematics that must hold, a naive loop and SciPy as witnesses, the bound."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from engine.errors import BadValue
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.verify.verification import Region
from engine.work.filter_task import describe_problem
from engine.work.filtering import oracle
from engine.work.filtering.oracle import added_steps, correlate, is_exact_class, rounding_bound, verify
from engine.work.problem import MAX_SIDE, Problem


def test_that_an_impossible_problem_is_refused_in_words():
    for arguments, words in [
        ({"height": 0, "width": 3}, "a picture of 0 × 3"),
        ({"height": 3, "width": -1}, "a picture of 3 × -1"),
        ({"height": MAX_SIDE + 1, "width": 1}, "each side must have 1 to 16,777,216 pixels"),
        ({"height": 3, "width": 3, "channels": 0}, "a picture of 0 channels"),
        ({"height": 3, "width": 3, "channels": 5}, "groups of at most 4"),
        ({"height": 3, "width": 3, "dtype": "float64"}, "samples of type float64"),
        ({"height": 3, "width": 3, "dtype": "int16"}, "Convert the picture to float32"),
        ({"height": 3, "width": 3, "anchor": (3, 0)}, "Choose a row from 0 to 2"),
        ({"height": 3, "width": 3, "anchor": (0, -1)}, r"anchor \(0, -1\)"),
        ({"height": 2, "width": 2, "dtype": "uint8", "result_dtype": "uint16"}, "Choose float32 or uint8"),
        ({"height": 2, "width": 2, "result_dtype": "uint8"}, r"Choose float32\.$"),
    ]:
        with pytest.raises(BadValue, match=words):
            Problem(**arguments)


RANDOM = np.random.default_rng(11)
# Small integers: every product and sum is exact in float64, so that equality is what must hold.
PICTURE = RANDOM.integers(-9, 10, (7, 6)).astype(np.float32)


def whole_mask(rows, columns, anchor=None, offset=0.0):
    return Mask(RANDOM.integers(-5, 6, (rows, columns)), anchor, offset)


def naive(image, mask, border, cval):
    """Correlate as the formula is written, one multiply-add at a time."""
    result = np.zeros(image.shape)
    ghost = cval if border is Border.CONSTANT else 0.0
    for r, c, m, n in itertools.product(*map(range, (*image.shape, *mask.shape))):
        row = border.rule(r + m - mask.anchor[0], image.shape[0])
        column = border.rule(c + n - mask.anchor[1], image.shape[1])
        result[r, c] += mask.weights[m, n] * (ghost if min(row, column) < 0 else float(image[row, column]))
    return result + mask.offset


def test_that_it_is_the_quadruple_loop_for_each_channel_apart():
    shapes = ((3, 3), None), ((2, 5), (0, 4)), ((4, 1), (3, 0)), ((15, 13), None), ((9, 20), (8, 0))
    for (shape, anchor), border in itertools.product(shapes, Border):
        mask = whole_mask(*shape, anchor, offset=-2.0)
        assert np.array_equal(correlate(PICTURE, mask, border, 3.0), naive(PICTURE, mask, border, 3.0))
    for dtype in ["uint8", "uint16", "float32", "float64"]:
        image = RANDOM.integers(0, 200, (5, 6, 3)).astype(dtype)
        mask = whole_mask(3, 3)
        whole = correlate(image, mask, Border.MIRROR)
        for channel in range(3):
            assert np.array_equal(whole[:, :, channel], correlate(image[:, :, channel], mask, Border.MIRROR))


def test_that_a_region_is_the_crop_of_the_whole():
    mask, regions = whole_mask(5, 9), (Region(0, 1, 0, 6), Region(2, 5, 1, 3), Region(6, 7, 5, 6))
    for region, border, absolute in itertools.product(regions, Border, (False, True)):
        crop = correlate(PICTURE, mask, border, 2.0, absolute=absolute)[region.slices]
        found = correlate(PICTURE, mask, border, 2.0, region, absolute=absolute)
        assert np.array_equal(found, crop)
        assert crop.size == region.pixels


def test_that_the_oracle_rounds_what_the_kernels_get():
    mask = Mask([[0.1]], offset=0.3)
    assert correlate(np.ones((1, 1)), mask)[0, 0] == float(np.float32(0.1)) + float(np.float32(0.3))
    seen = correlate(np.zeros((1, 1)), Mask([[1, 0]]), Border.CONSTANT, 0.7)
    assert seen[0, 0] == float(np.float32(0.7))
    image = np.array([[np.nan, 1, np.inf]])
    assert np.isnan(correlate(image, Mask([[0.0]]))).tolist() == [[True, False, True]]
    image = np.array([[-2.0, np.nan, np.inf, 5.0]])
    sizes = correlate(image, Mask([[-1.0, 3.0]], (0, 0), offset=-0.5), Border.CONSTANT, -4.0, absolute=True)
    assert sizes.tolist() == [[2.5, 0.5, 15.5, 17.5]]


BYTES = RANDOM.integers(0, 256, (9, 7, 2), np.uint8)
REALS = RANDOM.standard_normal((9, 7, 2)).astype(np.float32)
LARGEST = np.finfo(np.float32).max
SMOOTH = Mask([[1, 2, 1], [2, 4, 2], [1, 2, 1]]).divided_by(16)
HALVES = Mask([[0.5, -1.0, 1.5]], offset=60.0)


def judged(result, image, mask, border=Border.MIRROR):
    return verify(result, image, mask, describe_problem(image, mask, border, 0.0))


def rounded(image, mask, border=Border.MIRROR):
    with np.errstate(over="ignore"):
        return oracle.correlate(image, mask, border).astype(np.float32)


FULL = np.full((2, 2, 1), 65535, np.uint16)


def test_that_the_exact_class_is_what_never_rounds():
    for image, mask, ghost_value, exact in [
        (BYTES, Mask([[1, -2, 3]]), 0.0, True),
        (BYTES, SMOOTH, 0.0, True),
        (BYTES, Mask([[0.5]], offset=-0.25), 7.0, True),
        (BYTES, Mask([[1]], offset=0.1), 0.0, False),
        (BYTES, Mask([[1]], offset=2.0**-20), 0.0, False),
        (BYTES, Mask([[1, 1]]), 0.1, False),
        (BYTES, Mask([[1, 1]]), 2.5, True),
        (BYTES, Mask([[1 / 9]]), 0.0, False),
        (BYTES, Mask([[0, 0]]), 0.0, True),
        (BYTES, Mask([[1, 2.0**-17]]), 0.0, False),
        (REALS, Mask([[1]]), 0.0, False),
        (FULL, Mask([[128.0, 128.0]]), 0.0, True),
        (FULL, Mask([[129.0, 128.0]]), 0.0, False),
        (FULL, Mask([[128.0, 128.0]], offset=257.0), 0.0, False),
        (np.full((2, 2, 1), 1, np.uint8), Mask([[1.0]]), 2.0**24, False),
        (np.zeros((2, 2, 1), np.uint8), Mask([[1 / 3]]), 0.0, True),
        # Two passes scale the row by 2^-25 at most.
        (np.zeros((2, 2, 1), np.uint8), Mask([[1, 1], [1, 1]]), 2.0**-124, True),
        (np.zeros((2, 2, 1), np.uint8), Mask([[1, 1], [1, 1]]), 2.0**-125, False),
    ]:
        assert is_exact_class(image, mask, ghost_value) is exact


def test_that_two_passes_are_granted_what_subnormal_products_lose_times_the_column():
    for column, row, steps in [
        # Of 13 x 13 ones, 16 times 1/16: 13 products of each of 13 rows, times 16, less the 170 of the bound.
        (np.full(13, 16.0), np.full(13, 1 / 16), 13 * 13 * 16 / 2 - 170),
        # Whole weights lose nothing; weights that add up to 1 have room enough.
        (np.full(13, 16.0), np.ones(13), 0.0),
        (np.full(13, 1 / 13), np.full(13, 1 / 13), 0.0),
        (np.full(4, 2.5), np.array([0.5, 1.0, 2.0, 0.25]), (2 * 10 + 4) / 2 - 17),
    ]:
        granted = added_steps(column[:, np.newaxis], row[np.newaxis])
        assert max(0.0, steps) <= granted <= max(0.0, (steps + 170) * (1 + 1e-5) - 170)


def test_that_one_ulp_and_a_tie_to_the_odd_side_are_too_much_in_the_exact_class():
    result = rounded(BYTES, SMOOTH)
    passed = judged(result, BYTES, SMOOTH)
    assert (passed.passed, passed.exact, passed.max_error) == (True, True, 0.0)
    result[3, 4, 1] = np.nextafter(result[3, 4, 1], np.float32(np.inf))
    refused = judged(result, BYTES, SMOOTH)
    assert (refused.passed, refused.exact) == (False, False)
    assert "row 3, column 4, channel 1" in refused.reason
    sums = oracle.correlate(BYTES, HALVES, Border.MIRROR)
    assert is_exact_class(BYTES, HALVES, 0.0)
    ties = np.argwhere((sums % 1 == 0.5) & (sums > 1) & (sums < 254))
    assert len(ties) > 5
    at = tuple(ties[3])
    result = whole(BYTES, HALVES)
    result[at] = 2 * sums[at] - result[at]
    found = judged_whole(result, BYTES, HALVES)
    assert not found.passed
    assert f"row {at[0]}, column {at[1]}, channel {at[2]} is {result[at]}" in found.reason
    assert "rounding explains at most 0 steps" in found.reason


def test_that_the_bound_is_that_of_the_books():
    u, taps = 2.0**-24, 9
    gamma = (taps + 2) * u / (1 - (taps + 2) * u)
    assert rounding_bound(np.array([0.0, 5.0]), taps).tolist() == [10 * 2.0**-149, gamma * 5 + 10 * 2.0**-149]
    mask = Mask(RANDOM.standard_normal((3, 3)))
    wanted = oracle.correlate(REALS, mask, Border.MIRROR)
    bound = rounding_bound(oracle.correlate(REALS, mask, Border.MIRROR, absolute=True), mask.taps)
    place, result = (5, 2, 1), wanted.astype(np.float32)
    while float(result[place]) - wanted[place] <= bound[place]:
        result[place] = np.nextafter(result[place], np.float32(np.inf))
    refused = judged(result, REALS, mask)
    assert not refused.passed
    assert "row 5, column 2, channel 1" in refused.reason
    result[place] = np.nextafter(result[place], np.float32(-np.inf))
    accepted = judged(result, REALS, mask)
    assert accepted.passed
    assert accepted.max_error == float(result[place]) - wanted[place]
    assert accepted.bound == bound[place]


def exact_sum(weights, cells, offset):
    products = (Fraction(float(w)) * Fraction(float(x)) for w, x in zip(weights, cells, strict=True))
    return sum(products, Fraction(float(offset)))


def fused(value, weight, total):
    # float64 holds a product of two float32 exactly; its sum rounds once more, by less than 2^-29 of an ulp.
    return np.float32(np.float64(value) * np.float64(weight) + np.float64(total))


def orders(weights, cells, offset, columns):
    """Return the sum as it is formed serially, by mask rows, each plain and fused, and by pairs."""
    plain_row = plain = plain_rows = fused_row = fused_rows = fused_all = np.float32(0)
    for i, (weight, cell) in enumerate(zip(weights, cells, strict=True)):
        if i % columns == 0:
            plain_rows, fused_rows = plain_rows + plain_row, fused_rows + fused_row
            plain_row = fused_row = np.float32(0)
        plain, plain_row = plain + weight * cell, plain_row + weight * cell
        fused_row, fused_all = fused(cell, weight, fused_row), fused(cell, weight, fused_all)
    pairs = weights * cells
    while pairs.size > 1:
        pairs = np.append(pairs[0::2][: pairs.size // 2] + pairs[1::2], pairs[pairs.size - pairs.size % 2 :])
    sums = (plain, fused_all, plain_rows + plain_row, fused_rows + fused_row, pairs[0])
    return [np.float32(total + offset) for total in sums]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one sign", "cancelling", "subnormal", "large offset"])
@pytest.mark.parametrize("columns", [1, 3, 15])
def test_that_no_order_of_summation_leaves_the_bound(columns, kind):
    rows = columns
    random = np.random.default_rng(columns)
    for _ in range(40):
        weights = random.standard_normal(rows * columns).astype(np.float32)
        cells = random.standard_normal(rows * columns).astype(np.float32)
        offset = np.float32(random.standard_normal())
        if kind == "one sign":
            weights, cells = np.abs(weights), np.abs(cells)
        elif kind == "cancelling":
            cells = np.repeat(cells[: rows * columns // 2 + 1], 2)[: rows * columns] * np.float32(1e6)
            weights[1::2] = -weights[: rows * columns // 2 * 2 : 2]
        elif kind == "subnormal":
            weights, offset = weights * np.float32(1e-25), np.float32(3e-44)
            cells = cells * np.float32(1e-20)
        elif kind == "large offset":
            offset *= np.float32(1e7)
        true = exact_sum(weights, cells, offset)
        size = exact_sum(np.abs(weights), np.abs(cells), np.abs(offset))
        bound = Fraction(float(rounding_bound(np.array([float(size)]), weights.size)[0]))
        for total in orders(weights, cells, offset, columns):
            assert abs(Fraction(float(total)) - true) <= bound


def test_that_anything_but_a_number_is_refused_where_a_number_is_due():
    mask = Mask(RANDOM.standard_normal((3, 3)))
    for strange in (np.nan, np.inf, -np.inf):
        result = rounded(REALS, mask)
        result[0, 6, 0] = strange
        refused = judged(result, REALS, mask)
        assert not refused.passed
        assert f"row 0, column 6, channel 0 is {np.float32(strange)}" in refused.reason
        # An output that was never written.
        for image, weights in ((BYTES, [[1]]), (REALS, [[0.3]])):
            assert not judged(np.full(image.shape, strange, np.float32), image, Mask(weights)).passed


def test_that_anything_else_is_refused_where_nan_or_infinity_is_due():
    for cells, weights, due, others in [
        ([0.0, np.nan], [[0.0]], np.nan, [0.0, 1e30, np.inf, -np.inf]),
        ([0.0, np.inf], [[0.5, 2.0]], np.inf, [0.0, LARGEST, -np.inf, np.nan]),
        ([np.inf, -np.inf], [[1.0, 1.0]], np.nan, [np.inf]),
    ]:
        image, mask = REALS.copy(), Mask(weights)
        image[4, 2:4, 0] = cells
        result = rounded(image, mask)
        assert np.array_equal(result[4, 3, 0], due, equal_nan=True)
        assert judged(result, image, mask).passed
        for given in others:
            result[4, 3, 0] = given
            assert not judged(result, image, mask).passed


def test_that_infinity_is_explained_where_a_sum_may_pass_the_largest_number_and_proven_where_it_does():
    for value, weights, border, accepted, refused in [
        (3e38, [[1.0, 1.0, -1.0]], Border.ZERO, [np.inf, np.nan], 1e38),
        (1e38, [[1.0, 1.0, -1.0]], Border.ZERO, [], np.inf),
        (3e38, [[1.0, 1.0, 1.0]], Border.WRAP, [np.inf], LARGEST),
    ]:
        image, mask = np.full((1, 3, 1), value, np.float32), Mask(weights)
        result = rounded(image, mask, border)
        assert judged(result, image, mask, border).passed
        right = result[0, 1, 0]
        for given in (*accepted, refused):
            result[0, 1, 0] = given
            found = judged(result, image, mask, border)
            assert (found.passed, found.wrong_samples == 0) == (given == right, given is not refused)


def judged_whole(result, image, mask):
    return verify(result, image, mask, describe_problem(image, mask, Border.MIRROR, 0.0, image.dtype.name))


def whole(image, mask):
    sums = oracle.correlate(image, mask, Border.MIRROR)
    return np.rint(np.clip(sums, 0, np.iinfo(image.dtype).max)).astype(image.dtype)


def test_that_the_rounded_oracle_is_accepted_as_equal_and_a_wrapped_sample_is_not():
    for image in (BYTES, BYTES.astype(np.uint16) * 257):
        found = judged_whole(whole(image, HALVES), image, HALVES)
        assert (found.passed, found.exact, found.in_steps, found.max_error) == (True, True, True, 0.0)
        assert found.sentence() == "verified: every pixel matches the rounded float64 reference exactly"
    for wrong, weight in ((0, 3.0), (255, -3.0)):
        image, mask = np.full((3, 3, 1), 100, np.uint8), Mask([[weight]])
        result = np.full(image.shape, 255 - wrong, np.uint8)
        assert judged_whole(result, image, mask).exact
        result[1, 1, 0] = wrong
        found = judged_whole(result, image, mask)
        assert (found.passed, found.max_error, found.bound) == (False, 255.0, 0.0)


def test_that_just_both_neighbours_of_a_sum_beside_a_tie_are_accepted():
    # 0.1 and 0.4 are not float32: the sum 7.5 is met to within the bound only.
    image, mask = np.full((2, 2, 1), 15, np.uint8), Mask([[0.1, 0.4]], anchor=(0, 0))
    sums = oracle.correlate(image, mask, Border.MIRROR)
    bound = rounding_bound(oracle.correlate(image, mask, Border.MIRROR, absolute=True), mask.taps)
    assert np.all((sums - bound < 7.5) & (sums + bound > 7.5))
    assert not is_exact_class(image, mask, 0.0)
    six, seven, eight, nine = (
        judged_whole(np.full(image.shape, value, np.uint8), image, mask) for value in (6, 7, 8, 9)
    )
    assert [one.passed for one in (six, seven, eight, nine)] == [False, True, True, False]
    assert {seven.exact, eight.exact} == {True, False}
    inexact = seven if eight.exact else eight
    assert (inexact.max_error, inexact.bound) == (1.0, 1.0)
    assert inexact.sentence() == "verified: every pixel within rounding, max error 1 step"


def test_that_a_sum_that_overflows_on_the_way_may_end_at_either_end():
    # inf - inf is NaN, which becomes 0; in another order the sum is finite or infinite.
    image, mask = np.full((2, 3, 1), 255, np.uint8), Mask([[3e38, -3e38, 3e38]])
    for value in (0, 255):
        found = judged_whole(np.full(image.shape, value, np.uint8), image, mask)
        assert (found.passed, found.is_unproven) == (value == 255, value == 0)
