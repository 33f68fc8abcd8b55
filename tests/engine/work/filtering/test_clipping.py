"""How much of a result is clipped, and whether it can be."""

import itertools

import numpy as np
import pytest

from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.work.filtering.clipping import Clipped, can_clip, clipped_of, clipped_values, sample_clipped
from engine.work.resolve import Resolved
from engine.work.steps import MaskStep, one_step

SOBEL = Mask([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


def test_that_edges_and_offsets_can_clip_and_a_mean_cannot():
    masks = preset("gaussian-5"), SOBEL, preset("identity").with_offset(20.0)
    assert [can_clip(mask, 255.0) for mask in masks] == [False, True, True]


def test_that_what_is_clipped_asks_for_the_range_that_shows_it():
    assert Clipped(0.41, 0.02).better_range == "absolute"
    assert Clipped(0.1, 0.3).better_range == "rescale"
    assert Clipped(0.1, 0.1).better_range == ""
    # In another range only rescaling shows more.
    assert {Clipped(0.4, 0.1, range_mode=mode).better_range for mode in ("absolute", "offset")} == {"rescale"}


def test_that_every_window_of_a_small_picture_is_counted():
    ramp = np.tile(np.arange(20, 0, -1, dtype=np.uint8)[:, np.newaxis], (8, 1, 1))
    assert sample_clipped(ramp, SOBEL, 255.0) == Clipped(1.0, 0.0)
    # A mask larger than the picture says nothing.
    assert sample_clipped(np.zeros((2, 2, 1), np.uint8), SOBEL, 255.0) == Clipped()


def test_that_values_that_are_rounded_to_black_or_white_are_not_clipped():
    for white in (1.0, 255.0, 65535.0):
        shades = np.array([-0.1, -0.001, 0.0, 0.5, 1.0, 1.001, 1.1, 2.0], np.float32) * np.float32(white)
        values = np.broadcast_to(shades.reshape(8, 1, 1), (8, 8, 3))
        rounded = 0 if white < 65535 else 1  # a thousandth of 65535 is 65 steps
        assert clipped_values(values, white) == Clipped((1 + rounded) / 8, (2 + rounded) / 8)


@pytest.mark.filterwarnings("error")
def test_that_values_that_are_no_numbers_are_counted_without_a_warning():
    strange = np.resize(np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32), (20, 21, 1))
    # Every sum of a window has NaN in it.
    assert sample_clipped(strange, SOBEL, 1.0) == Clipped()


def test_that_what_is_shown_black_or_white_is_counted_in_every_range():
    samples = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    every = ["clip", "absolute", "offset", "rescale", "same type"]
    for how, weight in itertools.product(every, [-1, 1, 2, -3]):
        mode, result_type = ("clip", "same") if how == "same type" else (how, "float32")
        step = MaskStep(mask=Mask([[float(weight)]]), variant="cpu-serial")
        job = Resolved(one_step(step, device="cpu", result_type=result_type), samples).job()
        values = weight * np.arange(256)
        shown = {"absolute": abs(values), "offset": values + 128}.get(how, values)
        expected = Clipped(float((shown < 0).mean()), float((shown > 255).mean()), range_mode=mode)
        found = clipped_of(job, np.empty(0), mode)
        wanted = (0, 0) if how == "rescale" else (expected.below, expected.above)
        assert (found.below, found.above) == wanted
