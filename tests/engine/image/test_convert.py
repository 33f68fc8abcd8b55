import numpy as np
import pytest

from engine.errors import BadValue, UnknownName
from engine.image.convert import RANGE_MODES, change_alpha_depth, change_depth, to_depth

ODD = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30], np.float32)


def test_that_clip_saturates_and_rounds_half_to_even():
    image = np.array([-3, -0.4, 0.5, 1.5, 2.5, 254.5, 255.5, 300], np.float32)
    assert to_depth(image, np.uint8).tolist() == [0, 0, 0, 2, 2, 254, 255, 255]


@pytest.mark.parametrize(("dtype", "full"), [(np.uint8, 255), (np.uint16, 65535)])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [("clip", (0, 1, 0, 1, 0)), ("absolute", (0, 1, 1, 1, 1)), ("offset", (0, 1, 0, 1, 0))],
)
def test_that_values_that_are_no_numbers_have_a_place(dtype, full, mode, expected):
    assert to_depth(ODD, dtype, range_mode=mode).tolist() == [full * value for value in expected]


def test_that_absolute_drops_the_sign():
    assert to_depth(np.array([-3, 3, -400], np.float32), np.uint8, range_mode="absolute").tolist() == [
        3,
        3,
        255,
    ]


@pytest.mark.parametrize(("dtype", "middle"), [(np.uint8, 128), (np.uint16, 32768)])
def test_that_offset_makes_zero_middle_grey(dtype, middle):
    image = np.array([0, -1, 1, 0.5, 1.5, -1e6, 1e6], np.float32)
    expected = [middle, middle - 1, middle + 1, middle, middle + 2, 0, np.iinfo(dtype).max]
    assert to_depth(image, dtype, range_mode="offset").tolist() == expected


def test_that_offset_rounds_only_once():
    # In float32 the sum 32769.4999999 would be 32769.5, and the second rounding would go up to 32770.
    almost_half = np.nextafter(np.float32(1.5), np.float32(0))
    assert to_depth(np.array([almost_half]), np.uint16, range_mode="offset").tolist() == [32769]


def test_that_rescale_spreads_the_finite_values_over_the_full_scale():
    image = np.array([-10, 0, 10, np.nan, np.inf, -np.inf], np.float32)
    assert to_depth(image, np.uint8, range_mode="rescale").tolist() == [0, 128, 255, 0, 255, 0]


@pytest.mark.parametrize("value", [7.0, np.nan, np.inf])
def test_that_rescale_of_a_constant_picture_is_black(value):
    assert not to_depth(np.full((2, 2), value, np.float32), np.uint8, range_mode="rescale").any()


def test_that_every_mode_has_a_sentence_and_leaves_its_input_alone():
    for mode, sentence in RANGE_MODES.items():
        image = np.array([[-1.5, 300.0]], np.float32)
        to_depth(image, np.uint8, range_mode=mode)
        assert image.tolist() == [[-1.5, 300.0]]
        assert sentence.endswith(".")


def test_that_an_unknown_mode_or_depth_is_refused_in_words():
    with pytest.raises(UnknownName, match="clip, absolute, offset, rescale"):
        to_depth(ODD, np.uint8, range_mode="wrap")
    with pytest.raises(BadValue, match="int32"):
        to_depth(ODD, np.int32)


def test_that_8_and_16_bit_correspond_exactly():
    every_8 = np.arange(256, dtype=np.uint8)
    assert np.array_equal(change_depth(change_depth(every_8, np.uint16), np.uint8), every_8)
    every_16 = np.arange(65536, dtype=np.uint16)
    expected = np.rint(every_16 / 257).astype(np.uint8)
    assert np.array_equal(change_depth(every_16, np.uint8), expected)


def test_that_float_keeps_the_numbers_of_a_picture():
    every = np.arange(65536, dtype=np.uint16)
    assert np.array_equal(change_depth(every, np.float32), every)
    assert np.array_equal(change_depth(change_depth(every, np.float32), np.uint16), every)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_that_opaque_alpha_stays_opaque(dtype):
    alpha = np.array([0, np.iinfo(dtype).max], dtype)
    as_float = change_alpha_depth(alpha, np.float32)
    assert as_float.tolist() == [0.0, 1.0]
    assert np.array_equal(change_alpha_depth(as_float, dtype), alpha)
    assert change_alpha_depth(alpha, np.uint8).tolist() == [0, 255]
