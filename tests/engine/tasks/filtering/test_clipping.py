"""How much of a result is clipped, and whether it can be."""

import numpy as np
import pytest

from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.tasks.filtering.clipping import Clipped, can_clip, clipped_values, sample_clipped

SOBEL = Mask([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


def test_that_a_mean_cannot_clip():
    assert not can_clip(preset("gaussian-5"), 255.0)


def test_that_an_edge_filter_can_clip():
    assert can_clip(SOBEL, 255.0)


def test_that_an_offset_can_clip():
    assert can_clip(preset("identity").with_offset(20.0), 255.0)


def test_that_every_window_of_a_small_picture_is_counted():
    ramp = np.tile(np.arange(20, 0, -1, dtype=np.uint8)[:, np.newaxis], (8, 1, 1))
    assert sample_clipped(ramp, SOBEL, 255.0) == Clipped(1.0, 0.0)


@pytest.mark.parametrize("white", [1.0, 255.0, 65535.0])
def test_that_values_that_are_rounded_to_black_or_white_are_not_clipped(white):
    shades = np.array([-0.1, -0.001, 0.0, 0.5, 1.0, 1.001, 1.1, 2.0], np.float32) * np.float32(white)
    values = np.broadcast_to(shades.reshape(8, 1, 1), (8, 8, 3))
    rounded = 0 if white < 65535 else 1  # a thousandth of 65535 is 65 steps
    assert clipped_values(values, white) == Clipped((1 + rounded) / 8, (2 + rounded) / 8)


def test_that_a_mask_larger_than_the_picture_says_nothing():
    assert sample_clipped(np.zeros((2, 2, 1), np.uint8), SOBEL, 255.0) == Clipped()


def test_that_negative_values_ask_for_the_absolute_range():
    assert Clipped(0.41, 0.02).better_range == "absolute"


def test_that_bright_values_ask_for_rescaling():
    assert Clipped(0.1, 0.3).better_range == "rescale"


def test_that_a_fifth_needs_no_word():
    assert Clipped(0.1, 0.1).better_range == ""
