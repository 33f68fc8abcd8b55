import io

import numpy as np
import pytest
import tifffile
from PIL import Image

from engine.image.canvas import Canvas
from engine.image.form import Form
from engine.image.open import open_image

# The upright picture, and how each orientation stores it (row by row), from the figures of the EXIF standard.
UPRIGHT = np.array([[10, 20, 30], [40, 50, 60]], np.uint8)
STORED = {
    1: [[10, 20, 30], [40, 50, 60]],
    2: [[30, 20, 10], [60, 50, 40]],
    3: [[60, 50, 40], [30, 20, 10]],
    4: [[40, 50, 60], [10, 20, 30]],
    5: [[10, 40], [20, 50], [30, 60]],
    6: [[30, 60], [20, 50], [10, 40]],
    7: [[60, 30], [50, 20], [40, 10]],
    8: [[40, 10], [50, 20], [60, 30]],
}


def encoded(kind, orientation):
    image = np.array(STORED[orientation], np.uint8)
    buffer = io.BytesIO()
    if kind == "tiff":
        tag = (274, 3, 1, orientation, True)
        tifffile.imwrite(buffer, image, photometric="minisblack", extratags=[tag])
        return buffer.getvalue()
    exif = Image.Exif()
    exif[274] = orientation
    # Blocks of 16 pixels: JPEG is then nearly exact.
    pixels = np.kron(image, np.ones((16, 16), np.uint8)) if kind == "jpeg" else image
    options = {"lossless": True} if kind == "webp" else {"quality": 100} if kind == "jpeg" else {}
    Image.fromarray(pixels).save(buffer, kind, exif=exif, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("kind", ["png", "tiff", "webp", "jpeg"])
def test_that_a_picture_stands_upright(tmp_path, kind, orientation):
    path = tmp_path / "turned"
    path.write_bytes(encoded(kind, orientation))
    pixels = open_image(path).pixels
    pixels = pixels[..., 0] if pixels.ndim == 3 else pixels
    if kind == "jpeg":
        assert pixels.shape == (32, 48)
        pixels = pixels[8::16, 8::16]
        assert np.abs(pixels.astype(int) - UPRIGHT).max() <= 1
    else:
        assert np.array_equal(pixels, UPRIGHT)


@pytest.mark.parametrize("orientation", [0, 9, -1, 274])
def test_that_an_orientation_that_does_not_exist_changes_nothing(orientation):
    canvas = Canvas(Form(2, 3, 1, False, np.dtype(np.uint8)), orientation)
    canvas.put(slice(0, 2), UPRIGHT)
    assert np.array_equal(canvas.pixels, UPRIGHT)


def test_that_alpha_is_turned_with_the_colours(tmp_path):
    image = np.zeros((2, 3, 4), np.uint8)
    image[0, 0] = (1, 2, 3, 4)
    exif = Image.Exif()
    exif[274] = 3
    Image.fromarray(image).save(tmp_path / "a.png", exif=exif)
    picture = open_image(tmp_path / "a.png")
    assert picture.pixels[1, 2].tolist() == [1, 2, 3]
    assert picture.alpha[1, 2] == 4
