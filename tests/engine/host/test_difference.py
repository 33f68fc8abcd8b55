"""The difference of two runs: the absolute one of their results, its largest value white."""

import numpy as np
import pytest

from engine.host import shared
from engine.host.picture_jobs import open_picture
from engine.host.protocol import OpenPicture
from engine.host.shared_array import segments_of
from engine.image.samples import open_sample
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.work.comparing import difference
from engine.work.filtering import oracle
from engine.work.messages import ShowDifference
from tests.picture_jobs import mask_job


@pytest.fixture
def picture():
    handle = open_picture(OpenPicture(sample="impulse"), lambda step: None)
    yield handle
    shared.unlink(*segments_of(handle))


def shown(first, second):
    """Return the difference as values and as the picture that is seen, and the largest."""
    found = difference(ShowDifference(first, second), lambda step: None)
    values = shared.attach(found.shown.values).copy()
    screen = shared.attach(found.shown.screen.levels[0]).copy()
    shared.unlink(*segments_of(found))
    return values, screen, found.largest


def test_that_it_is_the_absolute_difference_of_two_results(picture):
    one = mask_job(picture=picture, mask=preset("sharpen"), variant="cpu-serial")
    other = one.changed(mask=preset("box-3"), variant="cpu-parallel")
    values, screen, largest = shown(one, other)
    pixels = open_sample("impulse").pixels
    results = [oracle.correlate(pixels, job.mask).reshape(values.shape) for job in (one, other)]
    # Each result is off by half a step of float32 per operation at most: 10 of them, of sums below 9 x 255.
    assert np.abs(values - np.abs(results[0] - results[1])).max() <= 20 * 9 * 255 * 2.0**-24
    assert largest == values.max()
    at = np.unravel_index(values[..., 0].argmax(), values.shape[:2])
    assert screen[at][0] == 255


def test_that_results_with_the_same_bits_are_black(picture):
    job = mask_job(picture=picture, mask=Mask([[1.0]]), variant="cpu-serial")
    values, screen, largest = shown(job, job.changed(variant="cpu-parallel"))
    assert (values.max(), largest, screen[..., :3].max()) == (0.0, 0.0, 0)
