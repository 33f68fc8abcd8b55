import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.view import ViewTransform
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


@pytest.fixture
def levels_of(qapp, share):
    return lambda pixels, **options: PictureLevels(screen_of(pixels, share, **options))


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 7, 33, 101])
def test_that_pictures_of_any_width_are_not_sheared(levels_of, columns):
    pixels = random_pixels(5, columns)
    np.testing.assert_array_equal(painted(levels_of(pixels), ViewTransform(), columns, 5), pixels)


@pytest.mark.parametrize(
    ("transform", "size", "wanted"),
    [
        # Above 100 % a pixel is a square; a part is seen of a moved picture; half the size is the half level.
        (ViewTransform(5.0), (320, 320), lambda pixels: pixels.repeat(5, axis=0).repeat(5, axis=1)),
        (ViewTransform(1.0, -20.0, -31.0), (10, 10), lambda pixels: pixels[31:41, 20:30]),
        (ViewTransform(0.5), (32, 32), lambda pixels: pixels[::2, ::2]),
        (ViewTransform(1.0, 100.0, 0.0), (20, 20), lambda pixels: np.zeros((20, 20, 3), np.uint8)),
    ],
    ids=["enlarged", "moved", "half", "outside"],
)
def test_that_the_pixels_that_are_seen_are_painted(levels_of, transform, size, wanted):
    pixels = random_pixels(64, 64)
    np.testing.assert_array_equal(painted(levels_of(pixels), transform, *size), wanted(pixels))


def test_that_the_level_is_the_smallest_that_will_do_and_clear_pixels_lie_on_a_checkerboard(levels_of):
    wanted = {8.0: 0, 1.0: 0, 0.51: 0, 0.5: 1, 0.3: 1, 0.01: 1}
    levels = levels_of(random_pixels(8, 8))
    assert {zoom: levels.level_for(zoom) for zoom in wanted} == wanted
    levels = levels_of(np.zeros((32, 32, 3), np.uint8), opacity=0)
    assert len({tuple(pixel) for pixel in painted(levels, ViewTransform(), 32, 32).reshape(-1, 3)}) == 2
