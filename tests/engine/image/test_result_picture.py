import numpy as np
import pytest

from engine.image.picture import Picture
from engine.image.result_picture import finished_picture


def finished(dtype, values, target, range_mode="clip"):
    shape = (1, len(values))
    picture = Picture(np.zeros(shape, dtype))
    result = finished_picture(
        picture, np.array(values, np.float32).reshape(shape), np.dtype(target), range_mode
    )
    assert result.dtype == target
    return result.pixels[0].tolist()


@pytest.mark.parametrize(
    ("dtype", "target", "wanted"),
    [
        (np.uint8, np.uint8, [5, 0, 100]),
        # In 16 bit the quarter of a grey step is kept: it is scaled before it is rounded.
        (np.uint8, np.uint16, [1349, 0, 25764]),
        (np.uint16, np.uint8, [0, 0, 0]),
        (np.float32, np.uint16, [5, 0, 100]),
        (np.uint8, np.float32, [5.25, -3.0, 100.25]),
    ],
)
def test_that_values_are_scaled_before_they_are_rounded(dtype, target, wanted):
    assert finished(dtype, [5.25, -3.0, 100.25], target) == wanted


@pytest.mark.parametrize(
    ("range_mode", "wanted"),
    [("clip", [0, 6, 255]), ("absolute", [3, 6, 255]), ("offset", [125, 134, 255])],
)
def test_that_the_range_mode_holds_for_float_pictures_too(range_mode, wanted):
    assert finished(np.float32, [-3.0, 6.0, 300.0], np.uint8, range_mode) == wanted


@pytest.mark.parametrize(("target", "opaque"), [(np.uint8, 255), (np.uint16, 65535), (np.float32, 1.0)])
def test_that_alpha_and_profile_are_carried_and_opaque_stays_opaque(target, opaque):
    picture = Picture(np.zeros((1, 2), np.uint8), np.array([[0, 255]], np.uint8), b"profile")
    result = finished_picture(picture, np.zeros((1, 2), np.float32), np.dtype(target), "clip")
    assert result.alpha is not None
    assert result.alpha.dtype == target
    assert result.alpha.tolist() == [[0, opaque]]
    assert result.icc_profile == b"profile"
