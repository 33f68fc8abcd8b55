from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadValue
from engine.image.picture import Picture


@pytest.mark.parametrize(
    ("dtype", "words"), [(np.uint8, "8 bit"), (np.uint16, "16 bit"), (np.float32, "32-bit float")]
)
def test_that_a_picture_tells_its_size_and_kind(dtype, words):
    named = Picture(np.zeros((3, 5, 3), dtype), np.zeros((3, 5), dtype), source=Path("a/leaf.png"))
    assert (named.height, named.width, named.channels, named.dtype) == (3, 5, 3, dtype)
    assert named.title() == f"leaf.png  5 x 3  RGB + alpha  {words}"
    assert Picture(np.zeros((2, 4), dtype)).title() == f"4 x 2  grey  {words}"


def test_that_pixels_become_contiguous_and_native():
    backwards = np.arange(12, dtype=">u2").reshape(3, 4)[:, ::-1]
    picture = Picture(backwards, backwards)
    for array in (picture.pixels, picture.alpha):
        assert array.flags.c_contiguous
        assert array.dtype.isnative
        assert np.array_equal(array, backwards)


def test_that_what_is_no_picture_and_alpha_of_another_shape_or_type_are_refused_in_words():
    shapes = (np.zeros(shape, np.uint8) for shape in ((0, 4), (4,), (4, 4, 2), (4, 4, 4)))
    dtypes = (np.zeros((4, 4), dtype) for dtype in (np.int32, np.float64))
    for pixels in (*shapes, *dtypes, [[1, 2]]):
        with pytest.raises(BadValue, match="not a picture"):
            Picture(pixels)
    for alpha in (np.zeros((4, 3), np.uint8), np.zeros((3, 4), np.uint16)):
        with pytest.raises(BadValue, match="alpha does not fit"):
            Picture(np.zeros((3, 4), np.uint8), alpha)


@pytest.mark.parametrize("last_axis", [(), (1,), (2,), (3,), (4,)])
def test_that_an_array_is_taken_by_its_channels(last_axis):
    array = np.arange(24, dtype=np.uint8)[: 6 * np.prod(last_axis, dtype=int)].reshape(2, 3, *last_axis)
    picture = Picture.from_array(array)
    has_alpha = last_axis in ((2,), (4,))
    assert (picture.channels, picture.alpha is not None) == (3 if last_axis > (2,) else 1, has_alpha)
    assert not has_alpha or np.array_equal(picture.alpha, array[..., -1])


def test_that_float64_becomes_float32_truth_black_and_white_and_other_arrays_are_refused_in_words():
    assert Picture.from_array(np.array([[0.1, 1e300]])).pixels.tolist() == [[np.float32(0.1), np.inf]]
    assert Picture.from_array(np.array([[True, False]])).pixels.tolist() == [[255, 0]]
    for dtype in (np.int64, np.uint32, np.float16, np.complex64, object):
        with pytest.raises(BadValue, match="astype"):
            Picture.from_array(np.zeros((2, 2), dtype))
    with pytest.raises(BadValue, match=r"\(2, 2, 5\)"):
        Picture.from_array(np.zeros((2, 2, 5), np.uint8))
