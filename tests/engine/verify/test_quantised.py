"""The judge of results of 8 and 16 bit: what it accepts and what it refuses."""

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering import oracle
from engine.tasks.filtering.agreement import is_exact_class, rounding_bound, verify
from engine.verify.verification import Verification

BYTES = np.random.default_rng(8).integers(0, 256, (9, 7, 2), np.uint8)
HALVES = Mask([[0.5, -1.0, 1.5]], offset=60.0)


def judged(result: np.ndarray, image: np.ndarray, mask: Mask) -> Verification:
    return verify(result, image, mask, describe_problem(image, mask, Border.MIRROR, 0.0, image.dtype.name))


def right(image: np.ndarray, mask: Mask) -> np.ndarray:
    sums = oracle.correlate(image, mask, Border.MIRROR)
    return np.rint(np.clip(sums, 0, np.iinfo(image.dtype).max)).astype(image.dtype)


@pytest.mark.parametrize("image", [BYTES, BYTES.astype(np.uint16) * 257], ids=["8 bit", "16 bit"])
def test_that_the_rounded_oracle_is_accepted_as_equal(image: np.ndarray) -> None:
    found = judged(right(image, HALVES), image, HALVES)
    assert (found.passed, found.exact, found.in_steps, found.max_error) == (True, True, True, 0.0)
    assert found.sentence() == "verified on every pixel, equal to the float64 oracle, rounded"


def test_that_a_tie_to_the_odd_side_is_refused_in_the_exact_class() -> None:
    sums = oracle.correlate(BYTES, HALVES, Border.MIRROR)
    assert is_exact_class(BYTES, HALVES, 0.0)
    ties = np.argwhere((sums % 1 == 0.5) & (sums > 1) & (sums < 254))
    assert len(ties) > 5
    place = tuple(ties[3])
    result = right(BYTES, HALVES)
    result[place] = 2 * sums[place] - result[place]
    found = judged(result, BYTES, HALVES)
    assert not found.passed
    assert f"row {place[0]}, column {place[1]}, channel {place[2]} is {result[place]}" in found.reason
    assert "rounding explains at most 0 steps" in found.reason


@pytest.mark.parametrize("wrong", [0, 255])
def test_that_a_wrapped_instead_of_saturated_sample_is_refused(wrong: int) -> None:
    image = np.full((3, 3, 1), 100, np.uint8)
    mask = Mask([[3.0]] if wrong == 0 else [[-3.0]])
    result = np.full(image.shape, 255 - wrong, np.uint8)
    assert judged(result, image, mask).exact
    result[1, 1, 0] = wrong
    found = judged(result, image, mask)
    assert (found.passed, found.max_error, found.bound) == (False, 255.0, 0.0)


def test_that_both_neighbours_of_a_sum_beside_a_tie_are_accepted_and_no_third() -> None:
    # 0.1 and 0.4 are not float32: the sum 7.5 is met to within the bound only.
    mask = Mask([[0.1, 0.4]], anchor=(0, 0))
    image = np.full((2, 2, 1), 15, np.uint8)
    sums = oracle.correlate(image, mask, Border.MIRROR)
    bound = rounding_bound(oracle.magnitudes(image, mask, Border.MIRROR), mask.taps)
    assert np.all((sums - bound < 7.5) & (sums + bound > 7.5))
    assert not is_exact_class(image, mask, 0.0)
    seven = judged(np.full(image.shape, 7, np.uint8), image, mask)
    eight = judged(np.full(image.shape, 8, np.uint8), image, mask)
    assert seven.passed
    assert eight.passed
    assert {seven.exact, eight.exact} == {True, False}
    inexact = seven if eight.exact else eight
    assert (inexact.max_error, inexact.bound) == (1.0, 1.0)
    assert inexact.sentence() == "verified on every pixel, max error 1 step, within rounding"
    for wrong in (6, 9):
        assert not judged(np.full(image.shape, wrong, np.uint8), image, mask).passed


@pytest.mark.parametrize("value", [0, 255])
def test_that_a_sum_that_overflows_on_the_way_may_end_at_either_end(value: int) -> None:
    # inf - inf is NaN, which becomes 0; in another order the sum is finite or infinite.
    mask = Mask([[3e38, -3e38, 3e38]])
    image = np.full((2, 3, 1), 255, np.uint8)
    assert judged(np.full(image.shape, value, np.uint8), image, mask).passed
