"""Pictures of differences, of errors in units of the bound, and the small ones of what masks do."""

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.host import shared
from engine.host.protocol import OpenPicture, PictureHandle, ScreenLevels
from engine.host.request import Preview
from engine.image.open import SAMPLES, open_sample
from engine.mask.mask import Mask
from engine.mask.presets import preset, presets
from engine.verify.verification import Region
from engine.work.comparing import effect, effects, small_picture
from engine.work.messages import ComparePictures, EffectsRequest
from tests.picture_jobs import mask_job

WHOLE = Region(0, 512, 0, 512)


@pytest.fixture
def picture(ask):
    return ask(OpenPicture(sample="astronaut"))


def test_that_equal_pixels_are_middle_grey_and_the_largest_difference_is_white(ask, picture):
    for offset, grey, words in (
        (0.0, 128, "no difference"), (12.0, 255, "difference: white is +12, black −12"),
    ):  # fmt: skip
        job = mask_job(picture=picture, mask=preset("identity").with_offset(offset), device="cpu")
        result = ask(Preview(job))
        compared = ask(ComparePictures(picture, result.values, None, result.variant, WHOLE))
        assert (shared.attach(compared.screen.levels[0])[..., :3] == grey).all()
        assert compared.words == words


def test_that_an_error_within_the_bound_is_less_than_one_and_a_wrong_pixel_is_the_brightest(ask, picture):
    job = mask_job(picture=picture, mask=preset("gaussian-5").divided_by(3.0), device="cpu")
    result = ask(Preview(job))
    compared = ask(ComparePictures(picture, result.values, job, result.variant, WHOLE))
    assert 0.0 < float(compared.words.split()[3]) < 1.0
    assert compared.is_whole
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


SIDE = 40
SAME, SOBEL = Mask([[1.0]]), Mask([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


@pytest.fixture
def opened():
    """Return a function that puts an array into shared memory, as a picture that is open."""
    made = []

    def put(array):
        made.extend(shared.create((array.shape, array.dtype.name)))
        shared.attach(made[-1])[...] = array
        return PictureHandle(made[-1], None, ScreenLevels(()), "made", "made")

    yield put
    shared.unlink(*(array.name for array in made))


def test_that_the_middle_of_a_picture_of_any_depth_is_shrunk_by_means(opened):
    for dtype, white in (("uint8", 255), ("uint16", 65535), ("float32", 1)):
        picture = np.zeros((4 * SIDE, 8 * SIDE, 1), dtype)
        # Pixels of 2 x 2 in the middle square of 80 x 80: one column of means is half of white.
        picture[:, 4 * SIDE, 0] = white
        small = small_picture(opened(picture), SIDE)
        assert small.shape == (SIDE, SIDE, 1)
        np.testing.assert_allclose(small[:, SIDE // 2], 127.5, rtol=1e-3)
        assert small.sum() == pytest.approx(SIDE * 127.5, rel=1e-3)


def test_that_a_picture_smaller_than_the_square_is_drawn_out_and_none_is_a_sample(opened):
    small = small_picture(opened(np.full((3, 5, 3), 9, np.uint8)), SIDE)
    assert (small == 9).all()
    without = small_picture(None, SIDE)
    pixels = open_sample(SAMPLES[0].key).pixels
    np.testing.assert_array_equal(without, small_picture(opened(pixels), SIDE))


def test_that_one_cell_shows_the_picture_edges_are_bright_however_weak_and_a_flat_picture_has_none():
    small = small_picture(None, SIDE)
    np.testing.assert_allclose(effect(small, SAME), small, atol=0.5)
    assert not effect(np.full((SIDE, SIDE, 1), 90.0, np.float32), SOBEL).any()
    weak, strong = (effect(small, Mask(SOBEL.weights * factor)) for factor in (0.01, 100.0))
    np.testing.assert_array_equal(weak, strong)
    assert 10 < weak.mean() < 128


def test_that_every_preset_has_a_picture_that_differs_from_black_and_a_stop_ends_them():
    masks = tuple(one.mask for one in presets())
    request = EffectsRequest(masks, None, SIDE)
    made = effects(request, lambda step: None)
    assert [len(one) for one in made] == [3 * SIDE * SIDE] * len(masks)
    assert all(np.frombuffer(one, np.uint8).max() > 128 for one in made)

    def stop(step):
        if step.fraction > 0:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        effects(request, stop)
