import math

import numpy as np
import pytest

from engine.errors import BadValue
from engine.mask.analysis import analyse
from engine.mask.generators import box, disk, gaussian, generate, misspelt_generator, motion
from engine.mask.generators import laplacian_of_gaussian as log

SMOOTHING = "box:7x3 box:4 gaussian:5 gaussian:9x5:1.5 gaussian:4:0.1 motion:9:30 motion:8 disk:7"


@pytest.mark.parametrize("spelling", SMOOTHING.split())
def test_that_smoothing_masks_add_up_to_1_and_are_point_symmetric(spelling):
    mask = generate(spelling)
    assert abs(mask.total - 1.0) <= mask.taps * 2.0**-53
    assert analyse(mask).is_point_symmetric


def test_that_a_gaussian_falls_as_its_sigma_says_and_is_separable():
    weights = gaussian(7, sigma=1.5).weights
    for distance in (1, 2):
        fall = math.exp(-(distance**2) / (2 * 1.5**2))
        assert weights[3, 3 + distance] / weights[3, 3] == pytest.approx(fall, rel=1e-14)
    assert analyse(gaussian(31, sigma=5.0)).separable


@pytest.mark.parametrize(("angle", "shape"), [(0, (1, 9)), (90, (9, 1)), (180, (1, 9))])
def test_that_motion_along_an_axis_is_one_line(angle, shape):
    np.testing.assert_allclose(motion(9, angle).weights, np.full(shape, 1 / 9), rtol=1e-14)


def test_that_motion_goes_counter_clockwise_with_rows_downwards():
    weights = motion(9, 45).weights
    assert weights[0, -1] > weights[0, 0] == 0.0
    np.testing.assert_allclose(motion(9, 135).weights, weights[:, ::-1], atol=1e-15)


def test_that_a_laplacian_of_gaussian_adds_up_to_0_with_a_negative_middle_and_a_disk_is_round():
    mask = log(9, 1.4)
    assert abs(mask.total) <= mask.taps * 2.0**-53 * mask.magnitude
    assert mask.weights[4, 4] == mask.weights.min() < 0.0
    rows = ("01110", "11111", "11111", "11111", "01110")
    assert (disk(5).weights > 0).tolist() == [[cell == "1" for cell in row] for row in rows]


SPELLINGS = {
    "gaussian:9:1.5": gaussian(9, sigma=1.5),
    "Gaussian:9x5:1.5": gaussian(9, 5, 1.5),
    "gaussian:9": gaussian(9),
    "box:7x3": box(7, 3),
    "motion:9:45": motion(9, 45),
    "motion:9": motion(9),
    "log:9:1.4": log(9, 1.4),
    "disk:7": disk(7),
} | dict.fromkeys(["sobel-x", "gaussian", "gauss:3", "1 0 -1", "", "C:\\mask.json"])


@pytest.mark.parametrize(("spelling", "mask"), SPELLINGS.items())
def test_that_a_short_spelling_makes_the_mask_and_other_words_none(spelling, mask):
    assert generate(spelling) == mask


REFUSED = (
    "box: box:x box:3x box:0 box:64 box:1x128 box:2x64 box:3:1 box:-3 disk:3x3 disk:7:1 log:9x9 log:8 log:1 "
    "log:9:0 gaussian:128x1 gaussian:9:0 gaussian:9:nan gaussian:9:inf gaussian:9:1:1 motion:9:inf "
    "motion:9:nan motion:9:a"
)


@pytest.mark.parametrize("spelling", REFUSED.split())
def test_that_numbers_out_of_range_are_refused_in_words(spelling):
    with pytest.raises(BadValue) as refusal:
        generate(spelling)
    assert refusal.value.why
    assert refusal.value.remedy


def test_that_every_side_can_be_made_and_a_row_and_a_column_of_127_cells():
    for side in range(1, 64):
        assert box(side).shape == gaussian(side, sigma=0.1).shape == disk(side).shape == (side, side)
        assert max(motion(side, 20).shape) <= 63
    assert box(1, 127).shape == gaussian(127, 1).transposed().shape == (1, 127)


MOST = {"box:64": 63, "disk:64": 63, "box:1x128": 127, "gaussian:999x1": 127}


@pytest.mark.parametrize(("spelling", "most"), MOST.items())
def test_that_too_many_cells_are_answered_with_the_most_there_can_be(spelling, most):
    with pytest.raises(BadValue) as refusal:
        generate(spelling)
    assert refusal.value.remedy == f"Take a whole number from 1 to {most}."


MISSPELT = {"gauss:9": "gaussian:9", "gaussian": "gaussian:9:1.5", "1 0 -1": None, "x" * 30 + ":3": None}


@pytest.mark.parametrize(("text", "meant"), MISSPELT.items())
def test_that_a_misspelt_generator_is_recognised(text, meant):
    assert misspelt_generator(text) == meant
