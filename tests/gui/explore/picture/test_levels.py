import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.view_transform import ViewTransform
from tests.gui.made_pictures import screen_of


def painted(levels, transform, width, height):
    """Return what a painter makes of a picture on black, H x W x 3, red first."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(0)
    painter = QPainter(image)
    levels.paint(painter, transform, QRectF(0, 0, width, height))
    painter.end()
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(height, image.bytesPerLine())
    return rows[:, : 4 * width].reshape(height, width, 4)[..., 2::-1].copy()


def random_pixels(rows, columns):
    return np.random.default_rng(7).integers(0, 256, (rows, columns, 3), np.uint8)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 7, 33, 101])
def test_that_pictures_of_any_width_are_not_sheared(qapp, share, columns):
    pixels = random_pixels(5, columns)
    levels = PictureLevels(screen_of(pixels, share))
    np.testing.assert_array_equal(painted(levels, ViewTransform(), columns, 5), pixels)


def test_that_above_100_percent_a_pixel_is_a_square_of_its_own_colour(qapp, share):
    pixels = random_pixels(4, 3)
    levels = PictureLevels(screen_of(pixels, share))
    expected = pixels.repeat(5, axis=0).repeat(5, axis=1)
    np.testing.assert_array_equal(painted(levels, ViewTransform(5.0), 15, 20), expected)


def test_that_a_moved_picture_shows_the_part_that_is_seen(qapp, share):
    pixels = random_pixels(64, 64)
    levels = PictureLevels(screen_of(pixels, share))
    shown = painted(levels, ViewTransform(1.0, -20.0, -31.0), 10, 10)
    np.testing.assert_array_equal(shown, pixels[31:41, 20:30])


def test_that_half_size_shows_the_half_level_unchanged(qapp, share):
    pixels = random_pixels(16, 12)
    levels = PictureLevels(screen_of(pixels, share))
    np.testing.assert_array_equal(painted(levels, ViewTransform(0.5), 6, 8), pixels[::2, ::2])


@pytest.mark.parametrize(("zoom", "level"), [(8.0, 0), (1.0, 0), (0.51, 0), (0.5, 1), (0.3, 1), (0.01, 1)])
def test_that_the_level_is_the_smallest_that_is_not_too_small(qapp, share, zoom, level):
    levels = PictureLevels(screen_of(random_pixels(8, 8), share))
    assert levels.level_for(zoom) == level


def test_that_a_transparent_picture_lies_on_a_checkerboard(qapp, share):
    levels = PictureLevels(screen_of(np.zeros((32, 32, 3), np.uint8), share, opacity=0))
    colours = {tuple(pixel) for pixel in painted(levels, ViewTransform(), 32, 32).reshape(-1, 3)}
    assert len(colours) == 2


def test_that_nothing_is_painted_where_the_picture_is_not(qapp, share):
    levels = PictureLevels(screen_of(random_pixels(8, 8) | 1, share))
    assert not painted(levels, ViewTransform(1.0, 100.0, 0.0), 20, 20).any()
