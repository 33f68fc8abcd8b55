"""The small pictures of what masks do."""

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.host import shared
from engine.host.protocol import PictureHandle, ScreenLevels
from engine.image.open import SAMPLES, open_sample
from engine.mask.mask import Mask
from engine.mask.presets import presets
from engine.work.comparing import effect, effects, small_picture
from engine.work.messages import EffectsRequest

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


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_that_the_middle_of_a_picture_of_any_depth_is_shrunk_by_means(opened, dtype):
    white = {"uint8": 255, "uint16": 65535, "float32": 1}[dtype]
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


def test_that_a_mask_of_one_cell_shows_the_picture_and_a_flat_picture_has_no_edges():
    small = small_picture(None, SIDE)
    np.testing.assert_allclose(effect(small, SAME), small, atol=0.5)
    assert not effect(np.full((SIDE, SIDE, 1), 90.0, np.float32), SOBEL).any()


def test_that_weak_and_strong_edges_are_as_bright_as_each_other():
    small = small_picture(None, SIDE)
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
