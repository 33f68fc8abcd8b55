"""Pictures of differences, and of errors in units of the bound."""

import numpy as np
import pytest

from engine.host import shared
from engine.host.protocol import OpenPicture
from engine.host.request import Preview, answer, segments_of
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.verify.verification import Region
from engine.work.messages import ComparePictures
from tests.picture_jobs import mask_job

WHOLE = Region(0, 512, 0, 512)


@pytest.fixture
def ask():
    """Return a function that asks the engine in this process; what it took is given back."""
    names: list[str] = []

    def asked(request):
        reply = answer(request, lambda step: None)
        names.extend(segments_of(reply))
        return reply

    yield asked
    shared.unlink(*names)


@pytest.fixture
def picture(ask):
    return ask(OpenPicture(sample="astronaut"))


def test_that_equal_pixels_are_middle_grey_in_the_difference(ask, picture):
    job = mask_job(picture=picture, mask=preset("identity"), device="cpu")
    result = ask(Preview(job))
    compared = ask(ComparePictures(picture, result.values, None, result.variant, WHOLE))
    assert (shared.attach(compared.screen.levels[0])[..., :3] == 128).all()
    assert compared.words == "no difference"


def test_that_the_largest_difference_is_white(ask, picture):
    job = mask_job(picture=picture, mask=preset("identity").with_offset(12.0), device="cpu")
    result = ask(Preview(job))
    compared = ask(ComparePictures(picture, result.values, None, result.variant, WHOLE))
    assert (shared.attach(compared.screen.levels[0])[..., :3] == 255).all()
    assert compared.words == "difference: white is +12, black −12"


def test_that_an_error_within_the_bound_is_less_than_one(ask, picture):
    job = mask_job(picture=picture, mask=preset("gaussian-5").divided_by(3.0), device="cpu")
    result = ask(Preview(job))
    compared = ask(ComparePictures(picture, result.values, job, result.variant, WHOLE))
    assert 0.0 < float(compared.words.split()[3]) < 1.0
    assert compared.is_whole


def test_that_a_wrong_pixel_is_the_brightest_of_the_error(ask, picture):
    job = mask_job(picture=picture, mask=preset("gaussian-5").divided_by(3.0), device="cpu")
    result = ask(Preview(job))
    shared.attach(result.values)[100, 200, 1] += 5.0
    compared = ask(ComparePictures(picture, result.values, job, result.variant, WHOLE))
    pixels = shared.attach(compared.screen.levels[0])
    assert np.argwhere(pixels[..., 1] == 255).tolist() == [[100, 200]]


def test_that_of_a_large_mask_the_part_that_is_seen_is_compared(ask, picture):
    job = mask_job(picture=picture, mask=Mask(np.full((31, 31), 1 / 700.0)), device="cpu")
    result = ask(Preview(job))
    # In the memory of an earlier picture, which is written anew.
    earlier = shared.create(((2_400_000,), "uint8"))[0]
    shared.attach(earlier)[...] = 77
    shared.recycle(earlier.name)
    seen = Region(330, 394, 200, 264)
    compared = ask(ComparePictures(picture, result.values, job, result.variant, seen))
    assert (compared.is_whole, compared.words.endswith("of the part that was seen")) == (False, True)
    pixels = shared.attach(compared.screen.levels[0])[..., :3]
    assert pixels[seen.slices].any()
    assert not any(pixels[outside].any() for outside in seen.around)


def test_that_outside_the_region_a_result_keeps_the_picture(ask, picture):
    region = Region(100, 140, 50, 80)
    job = mask_job(picture=picture, mask=preset("sobel-x"), device="cpu", region=region)
    values = shared.attach(ask(Preview(job)).values).copy()
    original = shared.attach(picture.pixels).astype(np.float32)
    whole = shared.attach(ask(Preview(mask_job(picture=picture, mask=job.mask, device="cpu"))).values)
    assert (values[region.slices] == whole[region.slices]).all()
    values[region.slices] = original[region.slices]
    assert (values == original).all()


def test_that_a_result_says_how_much_of_it_is_clipped(ask, picture):
    result = ask(Preview(mask_job(picture=picture, mask=preset("sobel-x"), device="cpu")))
    values = shared.attach(result.values)
    # Of 29,000 windows on a grid, so many deviations of a share away: 6 x sqrt(0.25 / 29,000).
    assert abs(result.clipped[0] - float((values < -0.5).mean())) < 0.02
