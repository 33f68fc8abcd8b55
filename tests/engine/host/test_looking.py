"""Parts of pictures, and pictures in numbers."""

import numpy as np
import pytest

from engine.errors import BadValue
from engine.geometry.border import RANGE_MODES
from engine.host import picture_jobs, shared
from engine.host.protocol import (
    PERCENTILES,
    CropPicture,
    MeasurePicture,
    OpenPicture,
    PictureHandle,
    ScreenLevels,
    ShowWindow,
)
from engine.host.request import Computed, answer, segments_of
from engine.host.shared_picture import level_shapes, render
from engine.image.convert import shown_level
from engine.image.open import sample_path
from engine.verify.verification import Region


@pytest.fixture
def opened():
    """Return a function that asks for a picture; what it took is given back."""
    names: list[str] = []

    def ask(request):
        reply = answer(request, lambda step: None)
        names.extend(segments_of(reply))
        return reply

    yield ask
    shared.unlink(*names)


def handle(pixels):
    (array,) = shared.create((pixels.shape, pixels.dtype.name))
    shared.attach(array)[...] = pixels
    return PictureHandle(array, None, ScreenLevels((array,)), "made", "made")


def test_that_a_crop_has_the_pixels_of_its_region_and_ends_with_the_picture(opened):
    whole = opened(OpenPicture(sample="astronaut"))
    part = opened(CropPicture(whole, Region(10, 30, 40, 90)))
    assert (shared.attach(part.pixels) == shared.attach(whole.pixels)[10:30, 40:90]).all()
    # One of a crop says where it is in the file.
    assert opened(CropPicture(part, Region(1, 5, 2, 9))).crop == Region(11, 15, 42, 49)
    part = opened(OpenPicture(path=str(sample_path("astronaut")), crop=Region(500, 900, 500, 900)))
    assert part.pixels.shape[:2] == (12, 12)
    with pytest.raises(BadValue, match="has no pixel there"):
        opened(OpenPicture(sample="astronaut", crop=Region(900, 950, 0, 9)))


def test_that_clipped_samples_are_counted_apart(opened):
    picture = handle(np.zeros((2, 3, 1), np.uint8))
    values = np.array([-1, 0, 255, 256, 300, np.nan], np.float32).reshape(2, 3, 1)
    (array,) = shared.create((values.shape, "float32"))
    shared.attach(array)[...] = values
    found = opened(MeasurePicture(picture, array))
    (after,) = found.after
    assert (after.below, after.above, after.not_finite, after.total) == (1, 2, 1, 6)
    assert found.after_ends == (-1.0, 300.0)
    assert [after.counts[at] for at in (0, 217, 218, 255)] == [2, 1, 1, 1]


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "computed"])
def test_that_a_window_shows_its_ends_black_and_white_and_leaves_the_values(opened, is_kept, monkeypatch):
    random = np.random.default_rng(3)
    samples = random.integers(0, 4096, (70, 80, 1), np.uint16)
    picture = handle(samples)
    values = None
    if not is_kept:
        monkeypatch.setattr(picture_jobs, "bands_of", lambda _, region: [(region, samples[region.slices])])
        values = Computed(None)
    found = opened(ShowWindow(picture, values, (1000.0, 3000.0)))
    level = shared.attach(found.screen.levels[0])[..., 0]
    wanted = np.rint(np.clip((samples[..., 0].astype(np.float64) - 1000) / 2000, 0, 1) * 255)
    assert np.abs(level - wanted).max() <= 1.0  # where float32 rounds a half to the other side
    assert (level[samples[..., 0] <= 1000] == 0).all()
    assert (level[samples[..., 0] >= 3000] == 255).all()
    assert (shared.attach(picture.pixels) == samples).all()
    low, high = opened(ShowWindow(picture, values, None)).ends
    assert (low, high) == pytest.approx(np.percentile(samples, PERCENTILES).tolist())


def test_that_mean_and_deviation_are_those_of_the_samples(opened):
    values = np.random.default_rng(1).integers(0, 65535, (40, 30, 2), np.uint16)
    found = opened(MeasurePicture(handle(values))).before
    # Sums of 1200 whole numbers below 2^32 are exact in float64; a division and a root are left.
    assert [one.mean for one in found] == [float(values[..., n].sum()) / 1200 for n in range(2)]
    exact = values.astype(np.float64).std((0, 1))
    assert [one.deviation for one in found] == pytest.approx(list(exact), rel=1e-12)


def test_that_the_level_of_a_sample_is_the_byte_on_the_screen():
    for white in [255.0, 65535.0, 1.0]:
        for mode in [mode for mode in RANGE_MODES if mode != "rescale"]:
            random = np.random.default_rng(2)
            values = (random.standard_normal((8, 9, 1)) * white).astype(np.float32)
            values[0, :3, 0] = np.nan, np.inf, -np.inf
            levels = [np.empty(shape, np.uint8) for shape in level_shapes(8, 9)]
            render(values, levels, white, mode)
            wanted = [shown_level(float(value), mode, white) for value in values.ravel()]
            assert levels[0][..., 0].ravel().tolist() == wanted
