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
NORMAL = Mask(RANDOM.standard_normal((9, 9)))
ZEROS = Mask(np.zeros((7, 7)))


def sums_of(halves):
    return (halves.upper.astype(np.float64) + halves.lower.astype(np.float64) / LOWER_SCALE) * halves.unit


@pytest.mark.parametrize("scale", [1.0, 2.0**-29, 2.0**29, 1 / 255])
def test_that_the_parts_are_the_weights_but_for_two_roundings(scale):
    mask = Mask(NORMAL.weights * scale)
    halves, wanted = halves_of(mask), mask.weights32.astype(np.float64)
    assert halves.upper.dtype == halves.lower.dtype == np.float16
    assert np.frexp(halves.unit)[0] == 0.5
    assert np.all(np.abs(sums_of(halves) - wanted) <= 2 * 2.0**-24 * np.abs(wanted))
    assert 0.0 < halves.rest <= 2.0
    assert np.abs(halves.upper).max() < 2**13


@pytest.mark.parametrize("mask", [Mask(RANDOM.integers(-(2**21), 2**21, (8, 8)).astype(float)), ZEROS])
def test_that_weights_of_22_bits_have_no_rest(mask):
    halves = halves_of(mask)
    assert halves.rest == 0.0
    assert np.array_equal(sums_of(halves), mask.weights)


def test_that_more_roundings_are_needed_for_weights_too_far_apart_more_steps_and_more_additions():
    near, far = Mask([[1.0, 1 / 3, 1e-3 / 3]]), Mask([[1.0, 1 / 3, 1e-9 / 3]])
    assert halves_of(near).rest <= 2.0 < halves_of(far).rest
    assert roundings_of(near, 4, 2) == roundings_of(Mask([[1.0]]), 4, 2) < roundings_of(far, 4, 2) - 10
    assert roundings_of(NORMAL, 1, 1) < min(roundings_of(NORMAL, 2, 1), roundings_of(NORMAL, 1, 2))


def test_that_the_largest_weight_decides_whether_a_mask_is_in_range():
    for largest, fits in ((2.0**31, False), (2.0**30, True), (2.0**-30, True), (2.0**-31, False)):
        assert is_in_range(Mask([[largest, 0.0], [largest / 1024, -largest / 3]])) == fits
    assert is_in_range(ZEROS)


def test_that_weights_of_few_digits_may_give_exact_sums_and_others_not():
    assert may_be_exact(Mask(np.ones((9, 9))))
    assert may_be_exact(Mask(np.arange(49.0).reshape(7, 7) / 1024))
    assert not may_be_exact(NORMAL)
