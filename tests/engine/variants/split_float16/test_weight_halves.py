"""Weights as two float16 each: what they add up to, what is left, and what is granted for it."""

import numpy as np
import pytest

from engine.mask.mask import Mask
from engine.variants.split_float16.weight_halves import (
    LOWER_SCALE,
    halves_of,
    is_in_range,
    may_be_exact,
    roundings_of,
)

RANDOM = np.random.default_rng(44)
UNIT_ROUNDOFF = 2.0**-24


@pytest.mark.parametrize("scale", [1.0, 2.0**-29, 2.0**29, 1 / 255])
def test_that_the_parts_are_the_weights_but_for_two_roundings(scale: float) -> None:
    mask = Mask(RANDOM.standard_normal((9, 9)) * scale)
    halves = halves_of(mask)
    assert halves.upper.dtype == halves.lower.dtype == np.float16
    assert np.frexp(halves.unit)[0] == 0.5
    sums = halves.upper.astype(np.float64) + halves.lower.astype(np.float64) / LOWER_SCALE
    wanted = mask.weights32.astype(np.float64)
    assert np.all(np.abs(sums * halves.unit - wanted) <= 2 * UNIT_ROUNDOFF * np.abs(wanted))
    assert 0.0 < halves.rest <= 2.0
    assert np.abs(halves.upper).max() < 2**13


def test_that_weights_of_22_bits_have_no_rest() -> None:
    mask = Mask(RANDOM.integers(-(2**21), 2**21, (8, 8)).astype(float))
    halves = halves_of(mask)
    assert halves.rest == 0.0
    sums = halves.upper.astype(np.float64) + halves.lower.astype(np.float64) / LOWER_SCALE
    assert np.array_equal(sums * halves.unit, mask.weights)


def test_that_weights_too_far_apart_for_float16_need_more_roundings() -> None:
    near = Mask([[1.0, 1 / 3, 1e-3 / 3]])
    far = Mask([[1.0, 1 / 3, 1e-9 / 3]])
    assert halves_of(near).rest <= 2.0 < halves_of(far).rest
    assert roundings_of(near, 4, 2) == roundings_of(Mask([[1.0]]), 4, 2)
    assert roundings_of(far, 4, 2) > roundings_of(near, 4, 2) + 10


def test_that_roundings_grow_with_steps_and_additions() -> None:
    mask = Mask(RANDOM.standard_normal((9, 9)))
    assert roundings_of(mask, 1, 1) < roundings_of(mask, 2, 1)
    assert roundings_of(mask, 1, 1) < roundings_of(mask, 1, 2)


def test_that_a_mask_of_zeros_has_zeros_and_is_in_range() -> None:
    mask = Mask(np.zeros((7, 7)))
    halves = halves_of(mask)
    assert not halves.upper.any()
    assert not halves.lower.any()
    assert halves.rest == 0.0
    assert is_in_range(mask)


def test_that_the_largest_weight_decides_whether_a_mask_is_in_range() -> None:
    for largest, fits in ((2.0**31, False), (2.0**30, True), (2.0**-30, True), (2.0**-31, False)):
        assert is_in_range(Mask([[largest, 0.0], [largest / 1024, -largest / 3]])) == fits


def test_that_weights_of_few_digits_may_give_exact_sums_and_others_not() -> None:
    assert may_be_exact(Mask(np.ones((9, 9))))
    assert may_be_exact(Mask(np.arange(49.0).reshape(7, 7) / 1024))
    assert not may_be_exact(Mask(RANDOM.standard_normal((9, 9))))
