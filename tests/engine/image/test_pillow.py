"""JPEG, BMP, WebP and GIF, and what their decoder leaves to us."""

import io
import re
import struct

import numpy as np
import pytest
from PIL import Image

from tests.engine.image.encoded import smooth_rgb, with_pillow

RGB = smooth_rgb()
GREY = np.ascontiguousarray(RGB[..., 0])


@pytest.mark.parametrize("kind", ["BMP", "PNG", "TIFF"])
def test_that_rows_of_any_width_stay_straight_and_one_bit_becomes_black_and_white(opened, kind):
    for columns in (1, 2, 3, 4, 5, 7, 8):
        image = np.arange(5 * columns * 3, dtype=np.uint8).reshape(5, columns, 3)
        assert np.array_equal(opened(with_pillow(image, kind)).pixels, image), columns
        assert np.array_equal(opened(with_pillow(image[..., 1], kind)).pixels, image[..., 1]), columns
        bits = image[..., 1] % 3 == 0
        picture = opened(with_pillow(Image.fromarray(bits), kind))
        assert np.array_equal(picture.pixels, bits * np.uint8(255)), columns


def test_that_a_grey_jpeg_stays_grey_and_cmyk_becomes_rgb_with_a_note(opened):
    assert opened(with_pillow(GREY, "JPEG")).channels == 1
    cmyk = Image.fromarray(np.full((8, 8, 3), (200, 100, 50), np.uint8)).convert("CMYK")
    picture = opened(with_pillow(cmyk, "JPEG", quality=100))
    assert np.abs(picture.pixels.astype(int) - (200, 100, 50)).max() <= 3
    assert "CMYK" in picture.notes[0]


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("part", [0.5, 0.8, 0.95])
def test_that_a_jpeg_cut_short_but_closed_by_an_end_marker_is_refused(opened, refused, progressive, part):
    noise = np.random.default_rng(5).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    data = with_pillow(noise, "JPEG", progressive=progressive)
    assert opened(data).notes == ()
    assert re.search(
        "stops before its last row|damaged", refused(data[: int(part * len(data))] + b"\xff\xd9").why
    )


def test_that_a_whole_jpeg_with_restarts_and_trailing_bytes_opens(opened):
    data = with_pillow(RGB, "JPEG", restart_marker_rows=1)
    assert data.count(b"\xff\xd0") == 1
    expected = opened(data).pixels
    assert np.array_equal(opened(data + b"\xff\xd8trailing" * 9).pixels, expected)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "MPO"])
def test_that_of_several_pictures_the_first_one_opens_with_a_note(opened, kind):
    frames = [Image.fromarray(np.full((9, 9, 3), value, np.uint8)) for value in (10, 200, 90)]
    options = {"WEBP": {"lossless": True}}.get(kind, {})
    buffer = io.BytesIO()
    frames[0].save(buffer, kind, save_all=True, append_images=frames[1:], duration=20, **options)
    picture = opened(buffer.getvalue())
    assert picture.format == {"MPO": "JPEG", "WEBP": "WebP"}.get(kind, kind)
    assert (picture.pixels == 10).all()
    (note,) = picture.notes
    assert "3 frames" in note
    assert "first" in note


def test_that_a_clear_colour_of_a_gif_becomes_alpha_and_a_palette_bmp_rgb(opened):
    image = Image.fromarray((GREY > 100).astype(np.uint8), mode=None).convert("P")
    picture = opened(with_pillow(image, "GIF", transparency=1))
    assert np.array_equal(picture.alpha, np.where(GREY > 100, 0, 255))
    image = Image.fromarray(RGB).quantize(16)
    assert np.array_equal(opened(with_pillow(image, "BMP")).pixels, np.asarray(image.convert("RGB")))


def test_that_a_run_length_bmp_that_names_too_few_pixels_is_refused_or_black(opened, refused):
    header = struct.pack("<IiiHHIIiiII", 40, 4, 4, 1, 8, 1, 6, 0, 0, 2, 0)
    palette = bytes([0, 0, 0, 0, 255, 255, 255, 0])
    data = b"BM" + struct.pack("<IHHI", 0, 0, 0, 14 + 40 + 8) + header + palette
    whole = bytes([4, 1, 0, 0]) * 4 + bytes([0, 1])
    assert (opened(data + whole).pixels == 255).all()
    refused(data + bytes([4, 1, 0, 0]))
