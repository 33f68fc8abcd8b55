"""A picture as NumPy, DLPack, the memory's buffer and a notebook take it."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest

from engine.host.display_levels import level_shapes, render
from engine.image.convert import full_scale_of
from engine.image.formats.png_bytes import MOST_SIDE
from engine.image.picture import Picture
from tests.engine.image import png_witness

RANDOM = np.random.default_rng(8)
GREY = RANDOM.integers(0, 65536, (5, 7), np.uint16)
COLOURS = RANDOM.normal(0.5, 1, (4, 6, 3)).astype(np.float32)


@pytest.mark.parametrize("pixels", [GREY, COLOURS], ids=["grey", "colours"])
def test_that_numpy_and_dlpack_take_a_picture_for_its_pixels(pixels):
    picture = Picture(pixels, pixels.reshape(*pixels.shape[:2], -1)[..., 0])
    array = np.asarray(picture)
    assert (array.dtype, array.tolist()) == (pixels.dtype, pixels.tolist())
    for shared in (array, np.asarray(picture, copy=False), picture.samples, np.from_dlpack(picture)):
        assert np.shares_memory(shared, pixels)
    for copy in (np.array(picture), np.from_dlpack(picture, copy=True)):
        assert not np.shares_memory(copy, pixels)
        assert np.array_equal(copy, pixels)
    assert np.asarray(picture, dtype=np.float64).tolist() == pixels.tolist()
    with pytest.raises(ValueError, match="copy"):
        np.asarray(picture, dtype=np.float64, copy=False)
    assert np.array_equal(np.subtract(picture, 1), pixels - 1)
    assert picture.__dlpack_device__() == (1, 0)
    assert picture.samples.shape == (*pixels.shape, 1)[:3]
    view = memoryview(picture.samples)
    assert (view.format, view.shape, view.tobytes()) == (
        pixels.dtype.char,
        picture.samples.shape,
        pixels.tobytes(),
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 asks classes for their memory")
def test_that_a_memory_view_of_a_picture_is_its_pixels():
    view = memoryview(Picture(GREY))
    assert (view.format, view.shape, view.tobytes()) == ("H", (5, 7), GREY.tobytes())


def misaligned(array):
    """Return a copy of an array that begins one byte after where its samples would be aligned."""
    memory = np.empty(array.nbytes + 1, np.uint8)
    copy = memory[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


def test_that_the_pixels_of_a_picture_are_aligned():
    picture = Picture(misaligned(COLOURS), misaligned(COLOURS[..., 0]))
    assert (picture.pixels.flags.carray, picture.alpha.flags.carray) == (True, True)


def window_level(pixels, alpha=None):
    """Return the first level of the window that is no larger than a notebook's, blue-green-red-alpha."""
    levels = [np.empty(shape, np.uint8) for shape in level_shapes(*pixels.shape[:2])]
    samples = pixels.reshape(*pixels.shape[:2], -1)
    render(samples, levels, full_scale_of(pixels.dtype), alpha=alpha)
    return next(level for level in levels if max(level.shape) <= MOST_SIDE)


def shown(picture):
    found = png_witness.decode(picture._repr_png_())
    return found.reshape(*found.shape[:2], -1)


# Full range, NaN and infinities; and 1025 x 2050 pixels: two halvings, each with an odd side.
FLOATS = np.array([[-1, 0, 0.25, 0.5], [1, 2, 3e38, 1e-9], [np.nan, np.inf, -np.inf, 0.1]], np.float32)
LARGE = RANDOM.integers(0, 65536, (1025, 2050, 3), np.uint16)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pixels",
    [FLOATS, COLOURS, GREY, (GREY >> 8).astype(np.uint8), LARGE],
    ids=["not finite", "float32", "uint16", "uint8", "large"],
)
def test_that_a_notebook_shows_what_the_window_shows(pixels):
    wanted = window_level(pixels)[..., 2::-1]
    assert np.array_equal(shown(Picture(pixels)), wanted if pixels.ndim == 3 else wanted[..., :1])


def test_that_a_notebook_has_the_alpha_as_it_is():
    alpha = RANDOM.random((4, 6), np.float32)
    found = shown(Picture(COLOURS, alpha))
    assert np.array_equal(found[..., 3], np.rint(alpha * 255))


def test_that_clear_pixels_leave_no_colour_in_the_halves():
    pixels = np.zeros((2, 1026, 3), np.uint8)
    pixels[..., 0], pixels[:, ::2] = 255, (0, 255, 0)
    alpha = np.full((2, 1026), 255, np.uint8)
    alpha[:, ::2] = 0
    assert np.unique(shown(Picture(pixels, alpha)).reshape(-1, 4), axis=0).tolist() == [[255, 0, 0, 128]]


def test_that_a_picture_in_a_notebook_has_at_most_1024_pixels_on_a_side():
    for size, wanted in [
        ((1, 1), (1, 1)),
        ((1024, 3), (1024, 3)),
        ((3, 1025), (2, 513)),
        ((4097, 1), (513, 1)),
    ]:
        assert shown(Picture(np.zeros(size, np.uint8))).shape[:2] == wanted


def test_that_a_picture_has_the_shape_the_length_and_the_items_of_its_pixels():
    for pixels in (GREY, COLOURS):
        picture = Picture(pixels)
        assert (picture.shape, picture.ndim, len(picture)) == (pixels.shape, pixels.ndim, len(pixels))
        assert np.array_equal(picture[1:3, ::2], pixels[1:3, ::2])
        assert np.array_equal(np.stack(list(picture)), pixels)


def test_that_a_picture_is_equal_to_its_pickled_copy_and_to_no_other():
    pixels = np.array([[np.nan, 1.0]], np.float32)
    picture = Picture(pixels, pixels, notes=("as it was",))
    copy = pickle.loads(pickle.dumps(picture))
    assert copy == picture
    assert hash(copy) == hash(picture)
    others = (Picture(pixels), replace(picture, notes=()), replace(picture, pixels=pixels + 1))
    assert all(other != picture for other in (*others, Picture(np.uint8([[0, 1]])), "a picture"))
