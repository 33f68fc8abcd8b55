"""The judge of every result: what it accepts, what it refuses, and whether its bound can be believed."""

from fractions import Fraction

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering import oracle
from engine.tasks.filtering.agreement import is_exact_class, regions_to_check, rounding_bound, verify
from engine.tasks.filtering.problem import Problem
from engine.verify.verification import Verification

RANDOM = np.random.default_rng(8)
BYTES = RANDOM.integers(0, 256, (9, 7, 2), np.uint8)
REALS = RANDOM.standard_normal((9, 7, 2)).astype(np.float32)
LARGEST = np.finfo(np.float32).max


def judged(result: np.ndarray, image: np.ndarray, mask: Mask, border: Border = Border.MIRROR) -> Verification:
    return verify(result, image, mask, describe_problem(image, mask, border, 0.0))


def rounded(image: np.ndarray, mask: Mask, border: Border = Border.MIRROR) -> np.ndarray:
    with np.errstate(over="ignore"):
        return oracle.correlate(image, mask, border).astype(np.float32)


# --- the class in which every order of summation gives the same result


@pytest.mark.parametrize(
    ("image", "mask", "ghost_value", "exact"),
    [
        (BYTES, Mask([[1, -2, 3]]), 0.0, True),
        (BYTES, Mask([[1, 2, 1], [2, 4, 2], [1, 2, 1]]).divided_by(16), 0.0, True),
        (BYTES, Mask([[0.5]], offset=-0.25), 7.0, True),
        (BYTES, Mask([[1]], offset=0.1), 0.0, False),
        (BYTES, Mask([[1]], offset=2.0**-20), 0.0, False),
        (BYTES, Mask([[1, 1]]), 0.1, False),
        (BYTES, Mask([[1, 1]]), 2.5, True),
        (BYTES, Mask([[1 / 9]]), 0.0, False),
        (BYTES, Mask([[0, 0]]), 0.0, True),
        (BYTES, Mask([[1, 2.0**-17]]), 0.0, False),
        (REALS, Mask([[1]]), 0.0, False),
        (np.full((2, 2, 1), 65535, np.uint16), Mask([[128.0, 128.0]]), 0.0, True),
        (np.full((2, 2, 1), 65535, np.uint16), Mask([[129.0, 128.0]]), 0.0, False),
        (np.full((2, 2, 1), 65535, np.uint16), Mask([[128.0, 128.0]], offset=257.0), 0.0, False),
        (np.full((2, 2, 1), 1, np.uint8), Mask([[1.0]]), 2.0**24, False),
        (np.zeros((2, 2, 1), np.uint8), Mask([[1 / 3]]), 0.0, True),
    ],
)
def test_that_the_exact_class_is_what_never_rounds(
    image: np.ndarray, mask: Mask, ghost_value: float, exact: bool
) -> None:
    assert is_exact_class(image, mask, ghost_value) is exact


def test_that_one_ulp_is_too_much_in_the_exact_class() -> None:
    mask = Mask([[1, 2, 1], [2, 4, 2], [1, 2, 1]]).divided_by(16)
    result = rounded(BYTES, mask)
    passed = judged(result, BYTES, mask)
    assert passed.passed
    assert passed.exact
    assert passed.max_error == 0.0
    result[3, 4, 1] = np.nextafter(result[3, 4, 1], np.float32(np.inf))
    refused = judged(result, BYTES, mask)
    assert not refused.passed
    assert not refused.exact
    assert "row 3, column 4, channel 1" in refused.reason


# --- the bound


def test_that_an_error_at_the_bound_is_accepted_and_one_ulp_beyond_is_refused() -> None:
    mask = Mask(RANDOM.standard_normal((3, 3)))
    wanted = oracle.correlate(REALS, mask, Border.MIRROR)
    bound = rounding_bound(oracle.magnitudes(REALS, mask, Border.MIRROR), mask.taps)
    place = (5, 2, 1)
    result = wanted.astype(np.float32)
    result[place] = wanted[place]
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


def exact_sum(weights: np.ndarray, cells: np.ndarray, offset: np.float32) -> Fraction:
    products = (Fraction(float(w)) * Fraction(float(x)) for w, x in zip(weights, cells, strict=True))
    return sum(products, Fraction(float(offset)))


def fused(value: np.float32, weight: np.float32, total: np.float32) -> np.float32:
    # float64 holds a product of two float32 exactly; its sum rounds once more, by less than 2^-29 of an ulp.
    return np.float32(np.float64(value) * np.float64(weight) + np.float64(total))


def orders(weights: np.ndarray, cells: np.ndarray, offset: np.float32, columns: int) -> list[np.float32]:
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


@pytest.mark.parametrize("kind", ["one sign", "cancelling", "subnormal", "large offset"])
@pytest.mark.parametrize("columns", [1, 3, 15])
def test_that_no_order_of_summation_leaves_the_bound(columns: int, kind: str) -> None:
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


def test_that_the_bound_is_that_of_the_books() -> None:
    u, taps = 2.0**-24, 9
    gamma = (taps + 2) * u / (1 - (taps + 2) * u)
    assert rounding_bound(np.array([0.0, 5.0]), taps).tolist() == [10 * 2.0**-149, gamma * 5 + 10 * 2.0**-149]


# --- what is not a number


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_that_anything_but_a_number_is_refused_where_a_number_is_due(strange: float) -> None:
    mask = Mask(RANDOM.standard_normal((3, 3)))
    result = rounded(REALS, mask)
    result[0, 6, 0] = strange
    refused = judged(result, REALS, mask)
    assert not refused.passed
    assert f"row 0, column 6, channel 0 is {np.float32(strange)}" in refused.reason


def test_that_an_output_nobody_wrote_is_refused() -> None:
    assert not judged(np.full(BYTES.shape, np.nan, np.float32), BYTES, Mask([[1]])).passed
    assert not judged(np.full(REALS.shape, np.nan, np.float32), REALS, Mask([[0.3]])).passed


@pytest.mark.parametrize("given", [0.0, 1e30, np.inf, -np.inf])
def test_that_anything_but_nan_is_refused_where_nan_is_due(given: float) -> None:
    image = REALS.copy()
    image[4, 3, 0] = np.nan
    result = rounded(image, Mask([[0.0]]))
    assert np.isnan(result[4, 3, 0])
    assert judged(result, image, Mask([[0.0]])).passed
    result[4, 3, 0] = given
    assert not judged(result, image, Mask([[0.0]])).passed


@pytest.mark.parametrize("given", [0.0, LARGEST, -np.inf, np.nan])
def test_that_anything_but_infinity_is_refused_where_the_picture_has_infinity(given: float) -> None:
    image = REALS.copy()
    image[4, 3, 0] = np.inf
    mask = Mask([[0.5, 2.0]])
    result = rounded(image, mask)
    assert result[4, 3, 0] == np.inf
    assert judged(result, image, mask).passed
    result[4, 3, 0] = given
    assert not judged(result, image, mask).passed


def test_that_infinity_less_infinity_is_nan_and_nothing_else() -> None:
    image = REALS.copy()
    image[4, 2:4, 0] = np.inf, -np.inf
    mask = Mask([[1.0, 1.0]])
    result = rounded(image, mask)
    assert np.isnan(result[4, 3, 0])
    assert judged(result, image, mask).passed
    result[4, 3, 0] = np.inf
    assert not judged(result, image, mask).passed


# --- overflow


def test_that_a_sum_that_passes_the_largest_number_on_its_way_may_be_infinite_or_nan() -> None:
    image = np.full((1, 3, 1), 3e38, np.float32)
    mask = Mask([[1.0, 1.0, -1.0]])
    result = rounded(image, mask, Border.ZERO)
    for value in (result[0, 1, 0], np.inf, np.nan):
        result[0, 1, 0] = value
        assert judged(result, image, mask, Border.ZERO).passed
    result[0, 1, 0] = 1e38
    assert not judged(result, image, mask, Border.ZERO).passed


def test_that_infinity_is_refused_where_no_order_can_overflow() -> None:
    image = np.full((1, 3, 1), 1e38, np.float32)
    mask = Mask([[1.0, 1.0, -1.0]])
    result = rounded(image, mask, Border.ZERO)
    assert judged(result, image, mask, Border.ZERO).passed
    result[0, 1, 0] = np.inf
    assert not judged(result, image, mask, Border.ZERO).passed


def test_that_a_sum_past_the_largest_number_is_infinite() -> None:
    image = np.full((1, 3, 1), 3e38, np.float32)
    mask = Mask([[1.0, 1.0, 1.0]])
    assert judged(np.full(image.shape, np.inf, np.float32), image, mask, Border.WRAP).passed
    assert not judged(np.full(image.shape, LARGEST, np.float32), image, mask, Border.WRAP).passed


# --- what is checked of a picture that is too large to check whole


@pytest.mark.parametrize(
    ("height", "width", "channels", "mask_shape"),
    [(900, 1300, 1, (5, 5)), (1300, 900, 3, (3, 7)), (3000, 40, 1, (15, 15)),
     (7, 90_000, 1, (9, 9)), (600, 600, 4, (63, 63))],
)  # fmt: skip
def test_that_all_four_edges_are_checked_and_no_pixel_is_counted_twice(
    height: int, width: int, channels: int, mask_shape: tuple[int, int]
) -> None:
    problem = Problem(height, width, channels, mask_shape=mask_shape, anchor=(0, 0))
    times_checked = np.zeros((height, width), int)
    for region in regions_to_check(problem, seed=1, affordable=2_000_000):
        assert region.pixels > 0
        times_checked[region.slices] += 1
    assert times_checked.max() == 1
    for edge in (times_checked[0], times_checked[-1], times_checked[:, 0], times_checked[:, -1]):
        assert edge.all()
    inner = times_checked[mask_shape[0] : -mask_shape[0], mask_shape[1] : -mask_shape[1]]
    assert inner.size == 0 or inner.any()


def test_that_a_small_picture_is_checked_whole() -> None:
    (region,) = regions_to_check(Problem(100, 200), seed=0)
    assert (region.top, region.bottom, region.left, region.right) == (0, 100, 0, 200)


def test_that_the_seed_chooses_the_rectangles_and_can_be_repeated() -> None:
    problem = Problem(4096, 4096, mask_shape=(5, 5), anchor=(2, 2))
    assert regions_to_check(problem, 3, 10_000_000) == regions_to_check(problem, 3, 10_000_000)
    assert regions_to_check(problem, 3, 10_000_000) != regions_to_check(problem, 4, 10_000_000)


@pytest.mark.parametrize(("row", "column"), [(0, 500), (399, 500), (200, 0), (200, 599)])
def test_that_one_wrong_sample_at_an_edge_is_found_in_a_sampled_picture(row: int, column: int) -> None:
    image = RANDOM.integers(0, 256, (400, 600, 1), np.uint8)
    mask = Mask(np.ones((3, 3)))
    problem = describe_problem(image, mask, Border.WRAP, 0.0)
    result = rounded(image, mask, Border.WRAP)
    fine = verify(result, image, mask, problem, affordable=300_000)
    assert fine.passed
    assert fine.checked_pixels < fine.total_pixels == 240_000
    result[row, column, 0] += 1
    wrong = verify(result, image, mask, problem, affordable=300_000)
    assert f"row {row}, column {column}, channel 0" in wrong.reason


def test_that_verification_can_be_stopped_and_tells_how_far_it_is() -> None:
    image = np.zeros((600, 2000, 1), np.uint8)
    mask = Mask([[1]])
    fractions: list[float] = []
    verify(np.zeros(image.shape, np.float32), image, mask, describe_problem(image, mask, Border.ZERO, 0.0),
           checkpoint=fractions.append)  # fmt: skip
    assert len(fractions) > 3
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0
    assert fractions[-1] < 1.0
