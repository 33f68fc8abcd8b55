import numpy as np
import pytest

from gui.explore.picture.pixel_values import PixelValues, value_text
from tests.gui.made_pictures import handle_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.uint8(255), "255"),
        (np.uint16(65535), "65535"),
        (np.float32(52.25), "52.25"),
        (np.float32(131), "131.0"),
        (np.float32(-2.5), "−2.500"),
        (np.float32(0), "0.0"),
        (np.float32(65535), "65535.0"),
        (np.float32(np.nan), "NaN"),
        (np.float32(np.inf), "∞"),
        (np.float32(-np.inf), "−∞"),
    ],
)
def test_that_a_number_is_written_in_few_digits(value, text):
    assert value_text(value) == text


@pytest.mark.parametrize("place", [(0, 0), (4, 6), (0, 6), (4, 0)])
def test_that_the_numbers_are_those_of_the_pixel_at_every_corner(share, place):
    pixels = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
    values = PixelValues(handle_of(pixels, share))
    values.set_result(share(pixels.astype(np.float32) + 0.5))
    assert values.texts("original", *place) == tuple(str(value) for value in pixels[place])
    assert [float(text) for text in values.texts("result", *place)] == list(pixels[place] + 0.5)


def test_that_alpha_and_result_are_read_where_there_are_any(share):
    pixels = np.zeros((2, 3, 1), np.uint16)
    alpha = np.array([[0, 1, 2], [3, 4, 65535]], np.uint16)
    assert PixelValues(handle_of(pixels, share, alpha)).texts("alpha", 1, 2) == ("65535",)
    values = PixelValues(handle_of(pixels, share))
    assert values.texts("alpha", 1, 2) == values.texts("result", 1, 2) == ()
