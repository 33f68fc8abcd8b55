"""Pictures in memory, their depths and ranges, the samples, and what NumPy and notebooks take them for."""

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assets.make_samples import DRAWINGS
from engine.errors import BadValue, UnknownName
from engine.geometry.border import RANGE_MODES
from engine.host.shared_picture import level_shapes, render
from engine.image.convert import change_depth, full_scale_of, to_depth
from engine.image.open import SAMPLES, open_sample, sample_path
from engine.image.picture import MOST_SHOWN_SIDE, Picture
from engine.image.save import finished_picture
from tests.engine.image import png_witness


def test_that_a_picture_tells_its_size_and_kind():
    for dtype, words in {np.uint8: "8 bit", np.uint16: "16 bit", np.float32: "32-bit float"}.items():
        named = Picture(np.zeros((3, 5, 3), dtype), np.zeros((3, 5), dtype), source=Path("a/leaf.png"))
        assert (named.height, named.width, named.channels, named.dtype) == (3, 5, 3, dtype)
        assert named.title() == f"leaf.png  5 × 3  RGB + alpha  {words}"
        assert Picture(np.zeros((2, 4), dtype)).title() == f"4 × 2  grey  {words}"


def test_that_pixels_become_contiguous_aligned_and_native():
    backwards = np.arange(12, dtype=">u2").reshape(3, 4)[:, ::-1]
    picture = Picture(backwards, backwards)
    for array in (picture.pixels, picture.alpha):
        assert array.flags.c_contiguous
        assert array.dtype.isnative
        assert np.array_equal(array, backwards)
    one_byte_on = np.frombuffer(b"x" + COLOURS.tobytes(), np.float32, offset=1).reshape(COLOURS.shape)
    assert not one_byte_on.flags.aligned
    picture = Picture(one_byte_on, one_byte_on[..., 0])
    assert (picture.pixels.flags.carray, picture.alpha.flags.carray) == (True, True)
    assert Picture.from_array(np.array([[0.1, 1e300]])).pixels.tolist() == [[np.float32(0.1), np.inf]]
    assert Picture.from_array(np.array([[True, False]])).pixels.tolist() == [[255, 0]]
    for dtype in (np.int64, np.uint32, np.float16, np.complex64, object):
        with pytest.raises(BadValue, match="astype"):
            Picture.from_array(np.zeros((2, 2), dtype))
    with pytest.raises(BadValue, match=r"\(2, 2, 5\)"):
        Picture.from_array(np.zeros((2, 2, 5), np.uint8))


def test_that_what_is_no_picture_is_refused_in_words():
    shapes = (np.zeros(shape, np.uint8) for shape in ((0, 4), (4,), (4, 4, 2), (4, 4, 4)))
    dtypes = (np.zeros((4, 4), dtype) for dtype in (np.int32, np.float64))
    for pixels in (*shapes, *dtypes, [[1, 2]]):
        with pytest.raises(BadValue, match="not a picture"):
            Picture(pixels)
    for alpha in (np.zeros((4, 3), np.uint8), np.zeros((3, 4), np.uint16)):
        with pytest.raises(BadValue, match="alpha does not fit"):
            Picture(np.zeros((3, 4), np.uint8), alpha)


def test_that_an_array_is_taken_by_its_channels():
    for last_axis in [(), (1,), (2,), (3,), (4,)]:
        array = np.arange(24, dtype=np.uint8)[: 6 * np.prod(last_axis, dtype=int)].reshape(2, 3, *last_axis)
        picture = Picture.from_array(array)
        has_alpha = last_axis in ((2,), (4,))
        assert (picture.channels, picture.alpha is not None) == (3 if last_axis > (2,) else 1, has_alpha)
        assert not has_alpha or np.array_equal(picture.alpha, array[..., -1])


ODD = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30], np.float32)
# In float32 the sum 32769.4999999 would be 32769.5, and the second rounding would go up to 32770.
ALMOST_HALF = np.nextafter(np.float32(1.5), np.float32(0))


def test_that_values_are_rounded_into_the_range_by_each_mode():
    for mode, dtype, values, wanted in [
        ("clip", np.uint8, [-3, -0.4, 0.5, 1.5, 2.5, 254.5, 255.5, 300], [0, 0, 0, 2, 2, 254, 255, 255]),
        ("absolute", np.uint8, [-3, 3, -400], [3, 3, 255]),
        ("offset", np.uint8, [0, -1, 1, 0.5, 1.5, -1e6, 1e6], [128, 127, 129, 128, 130, 0, 255]),
        ("offset", np.uint16, [0, -1, 1, 1.5, -1e6, 1e6], [32768, 32767, 32769, 32770, 0, 65535]),
        ("offset", np.uint16, [ALMOST_HALF], [32769]),
        ("rescale", np.uint8, [-10, 0, 10, np.nan, np.inf, -np.inf], [0, 128, 255, 0, 255, 0]),
        ("rescale", np.uint8, [7.0, 7.0], [0, 0]),
        ("rescale", np.uint8, [np.nan, np.nan], [0, 0]),
        ("rescale", np.uint8, [np.inf, np.inf], [0, 0]),
        *(
            (mode, dtype, ODD, [np.iinfo(dtype).max * part for part in parts])
            for dtype in (np.uint8, np.uint16)
            for mode, parts in (("clip", "01010"), ("absolute", "01111"), ("offset", "01010"))
            for parts in [[int(part) for part in parts]]
        ),
    ]:
        image = np.array(values, np.float32)
        before = image.copy()
        result = to_depth(image, dtype, range_mode=mode)
        assert (result.tolist(), result.dtype) == (wanted, dtype)
        np.testing.assert_array_equal(image, before)


def test_that_depths_correspond_exactly():
    assert all(sentence.endswith(".") for sentence in RANGE_MODES.values())
    with pytest.raises(UnknownName, match="clip, absolute, offset, rescale"):
        to_depth(ODD, np.uint8, range_mode="wrap")
    with pytest.raises(BadValue, match="int32"):
        to_depth(ODD, np.int32)
    every_8, every_16 = np.arange(256, dtype=np.uint8), np.arange(65536, dtype=np.uint16)
    assert np.array_equal(change_depth(change_depth(every_8, np.uint16), np.uint8), every_8)
    assert np.array_equal(change_depth(every_16, np.uint8), np.rint(every_16 / 257).astype(np.uint8))
    assert np.array_equal(change_depth(every_16, np.float32), every_16)
    as_float = (every_16 / 65535).astype(np.float32)
    assert np.array_equal(change_depth(as_float, np.uint16), every_16)
    assert np.array_equal(change_depth(as_float, np.uint8), np.rint(every_16 / 257))
    for dtype in (np.uint8, np.uint16):
        alpha = np.array([0, np.iinfo(dtype).max], dtype)
        as_float = change_depth(alpha, np.float32, is_alpha=True)
        assert as_float.tolist() == [0.0, 1.0]
        assert np.array_equal(change_depth(as_float, dtype, is_alpha=True), alpha)
        assert change_depth(alpha, np.uint8, is_alpha=True).tolist() == [0, 255]


def test_that_a_result_is_scaled_before_it_is_rounded():
    for dtype, target, range_mode, values, wanted in [
        (np.uint8, np.uint8, "clip", [5.25, -3.0, 100.25], [5, 0, 100]),
        # In 16 bit the quarter of a grey step is kept: it is scaled before it is rounded.
        (np.uint8, np.uint16, "clip", [5.25, -3.0, 100.25], [1349, 0, 25764]),
        (np.uint16, np.uint8, "clip", [5.25, -3.0, 100.25], [0, 0, 0]),
        (np.float32, np.uint16, "clip", [0.25, -3.0, 100.25], [16384, 0, 65535]),
        (np.uint8, np.float32, "clip", [5.25, -3.0, 100.25], [5.25, -3.0, 100.25]),
        (np.float32, np.uint8, "clip", [-3.0, 0.2, 300.0], [0, 51, 255]),
        (np.float32, np.uint8, "absolute", [-0.2, 0.4, 3e38], [51, 102, 255]),
        (np.float32, np.uint8, "offset", [-0.2, 0.2, 300.0], [77, 179, 255]),
        (np.float32, np.uint8, "rescale", [-3e38, 0.0, 3e38], [0, 128, 255]),
    ]:
        full = np.array([0, 1, 1], dtype) * (1 if dtype == np.float32 else np.iinfo(dtype).max)
        picture = Picture(np.zeros((1, 3), dtype), full.astype(dtype)[np.newaxis], b"profile")
        result = finished_picture(picture, np.array([values], np.float32), np.dtype(target), range_mode)
        assert (result.pixels.tolist(), result.dtype, result.icc_profile) == ([wanted], target, b"profile")
        opaque = 1.0 if target == np.float32 else np.iinfo(target).max
        assert (result.alpha.tolist(), result.alpha.dtype) == ([[0, opaque, opaque]], target)


ASSETS = Path(__file__).resolve().parents[3] / "assets"


def test_that_samples_open_without_a_note():
    assert sum(path.stat().st_size for path in ASSETS.rglob("*") if path.is_file()) < 3_000_000
    licences = (ASSETS / "LICENSES.md").read_text(encoding="utf-8")
    for sample in SAMPLES:
        picture = open_sample(sample.key)
        assert picture.notes == ()
        # As the menu of samples has it, which opens no file.
        assert picture.pixels.shape[:2] == (sample.side, sample.side)
        assert sample_path(sample.key).name in licences
        assert sample.sentence.endswith(".")
    assert {*sample_path("camera").parent.iterdir()} == {sample_path(sample.key) for sample in SAMPLES}
    assert open_sample("astronaut").title() == "astronaut.png  512 × 512  RGB  8 bit"
    assert open_sample("gradient-16").dtype == np.uint16
    with pytest.raises(UnknownName, match=r"'lena'.*astronaut, camera"):
        sample_path("lena")


def test_that_a_drawing_is_what_its_script_draws():
    for key in DRAWINGS:
        # One step: cos and sin differ in the last bit between processors.
        difference = open_sample(key).pixels.astype(np.int64) - DRAWINGS[key]()
        assert np.abs(difference).max() <= 1


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
    assert (view.format, view.shape) == (pixels.dtype.char, picture.samples.shape)
    assert view.tobytes() == pixels.tobytes()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 asks classes for their memory")
def test_that_a_memory_view_of_a_picture_is_its_pixels():
    view = memoryview(Picture(GREY))
    assert (view.format, view.shape, view.tobytes()) == ("H", (5, 7), GREY.tobytes())


def window_level(pixels, alpha=None):
    """Return the first level of the window that is no larger than a notebook's, blue-green-red-alpha."""
    levels = [np.empty(shape, np.uint8) for shape in level_shapes(*pixels.shape[:2])]
    samples = pixels.reshape(*pixels.shape[:2], -1)
    render(samples, levels, full_scale_of(pixels.dtype), alpha=alpha)
    return next(level for level in levels if max(level.shape) <= MOST_SHOWN_SIDE)


def shown(picture):
    found = png_witness.decode(picture._repr_png_())
    return found.reshape(*found.shape[:2], -1)


# Full range, NaN and infinities; and 37 x 2050 pixels: two halvings, each with an odd side.
FLOATS = np.array([[-1, 0, 0.25, 0.5], [1, 2, 3e38, 1e-9], [np.nan, np.inf, -np.inf, 0.1]], np.float32)
LARGE = RANDOM.integers(0, 65536, (37, 2050, 3), np.uint16)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pixels",
    [FLOATS, COLOURS, GREY, (GREY >> 8).astype(np.uint8), LARGE],
    ids=["not finite", "float32", "uint16", "uint8", "large"],
)
def test_that_a_notebook_shows_what_the_window_shows(pixels):
    wanted = window_level(pixels)[..., 2::-1]
    assert np.array_equal(shown(Picture(pixels)), wanted if pixels.ndim == 3 else wanted[..., :1])


def test_that_a_notebook_has_the_alpha_as_it_is_and_clear_pixels_leave_no_colour_in_the_halves():
    alpha = RANDOM.random((4, 6), np.float32)
    assert np.array_equal(shown(Picture(COLOURS, alpha))[..., 3], np.rint(alpha * 255))
    pixels, alpha = np.zeros((2, 1026, 3), np.uint8), np.full((2, 1026), 255, np.uint8)
    pixels[..., 0], pixels[:, ::2], alpha[:, ::2] = 255, (0, 255, 0), 0
    assert np.unique(shown(Picture(pixels, alpha)).reshape(-1, 4), axis=0).tolist() == [[255, 0, 0, 128]]


def test_that_a_picture_in_a_notebook_has_at_most_1024_pixels_on_a_side():
    sizes = {(1, 1): (1, 1), (1024, 3): (1024, 3), (3, 1025): (2, 513), (4097, 1): (513, 1)}
    for size, wanted in sizes.items():
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
