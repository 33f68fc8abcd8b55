"""What the mask doctor says, against sums written out."""

import cmath

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.mask.analysis import (
    POINTS,
    describe_sum,
    examine,
    frequency_response,
    kept_in_a_corner,
    pixels_at_borders,
)
from engine.mask.factors import split
from engine.mask.generators import generate
from engine.mask.mask import Mask
from engine.mask.presets import preset, presets

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


def test_that_whole_numbers_split_into_whole_numbers():
    column, row = split(preset("sobel-x").with_offset(128.0))
    assert sorted((column.weights.ravel().tolist(), row.weights.ravel().tolist())) == [[-1, 0, 1], [1, 2, 1]]
    assert (column.offset, row.offset) == (0.0, 128.0)
    assert row.name == "Sobel x, row" or not row.name


def test_that_singular_values_give_the_rank():
    known = examine(preset("outline"))
    kept = [value for value in known.singular_values if value > 2.0**-24 * known.singular_values[0]]
    assert len(kept) == known.facts.rank == 2
    norm = np.sqrt(sum(value**2 for value in known.singular_values))
    assert norm == pytest.approx(np.linalg.norm(known.mask.weights), rel=1e-14)


def test_that_pixels_at_borders_are_counted():
    for mask in [preset("sobel-x"), generate("box:4x6"), Mask([[1]]), Mask([[1, 2]], (0, 0))]:
        for shape in [(5, 7), (2, 2), (1, 9), (30, 20)]:
            height, width = shape
            row, column = mask.anchor
            outside = sum(
                not (
                    y - row >= 0
                    and y - row + mask.rows <= height
                    and x - column >= 0
                    and x - column + mask.columns <= width
                )
                for y in range(height)
                for x in range(width)
            )
            assert pixels_at_borders(mask, height, width) == outside


def test_that_a_corner_keeps_what_lies_within():
    assert kept_in_a_corner(preset("box-3"), Border.ZERO) == pytest.approx(4 / 9)
    assert kept_in_a_corner(preset("box-3"), Border.MIRROR) is None
    assert kept_in_a_corner(preset("sobel-x"), Border.ZERO) is None


def test_that_sums_within_rounding_are_named_as_they_are_meant():
    assert describe_sum(generate("gabor:9")).short == "The weights add up to 0"
