"""What opening takes: memory in the size of the picture, and no time where pixels must be missing."""

import argparse
import struct

import numpy as np
import pytest
from PIL import Image

from bench.open_memory import FACTOR, kinds, openings, photograph
from engine.commands.filter_steps import work_bytes
from engine.device.core_count import cores
from engine.errors import ImageReadError
from engine.image import png as png_module
from engine.image.form import Form
from engine.image.open import open_image
from engine.image.scratch import Scratch
from tests.engine.image.encoded import (
    one_colour_webp,
    one_of_each,
    png_header,
    smooth_rgb,
    tiff_header,
    with_pillow,
)

# Bands, buffers and files up to 64 MB that are held: the same for every size. A second copy of these pictures
# is more. Each core holds a band of about 1 MB in several types: 2 MB more each on 16 cores.
ALLOWANCE_BYTES = 30_000_000 + 2_000_000 * cores()
RGB = photograph(3000, 4000)


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("png-alpha", "library"),
        ("jpeg", "library"),
        ("jpeg-turned", "library"),
        ("webp", "library"),
        ("gif", "library"),
        ("tiff-planar-16", "library"),
        ("tiff-one-strip", "library"),
        ("tiff-float64", "library"),
        ("png-alpha", "window"),
    ],
)
def test_that_opening_takes_at_most_half_as_much_again_as_the_picture(tmp_path, kind, way):
    path = tmp_path / kind
    path.write_bytes(kinds()[kind](RGB))
    (one,) = openings(path, way=way)
    assert not one.refusal
    assert one.decoded_bytes
    assert one.peak_bytes <= FACTOR * one.decoded_bytes + ALLOWANCE_BYTES


def test_that_scratch_memory_is_given_back_and_its_neighbours_kept():
    scratch = Scratch((64, 1000), np.uint8)
    scratch.array[:] = 7
    scratch.give_back(scratch.array[:32])
    assert (scratch.array[32:] == 7).all()


def jpeg_of(width, height):
    """A JPEG whose header promises that size and whose pixels are those of 41 x 37."""
    size = struct.pack(">HH", height, width)
    return with_pillow(smooth_rgb(), "JPEG").replace(b"\x08\x00\x25\x00\x29\x03", b"\x08" + size + b"\x03")


def webp_of(width, height):
    data = bytearray(with_pillow(smooth_rgb(), "WEBP"))
    at = data.index(b"\x9d\x01\x2a") + 3
    data[at : at + 4] = struct.pack("<HH", width, height)
    return bytes(data)


TOO_SHORT = {
    "jpeg": jpeg_of(12_000, 12_000),
    "png": png_header(1_000_000, 1_000),
    "webp": webp_of(16_383, 16_383),
    "tiff": tiff_header(30_000, 30_000),
}


@pytest.mark.parametrize("kind", TOO_SHORT)
def test_that_a_file_too_short_for_its_size_is_refused_before_it_is_decoded(tmp_path, monkeypatch, kind):
    path = tmp_path / kind
    path.write_bytes(TOO_SHORT[kind])

    def decode(*arguments):
        raise AssertionError("memory was taken")

    for module in ("png", "tiff", "webp", "pillow"):
        monkeypatch.setattr(f"engine.image.{module}.Canvas", decode)
    monkeypatch.setattr("engine.image.pillow._mapped", decode)
    with pytest.raises(ImageReadError, match=r"it was cut short or its (header is|tags are) damaged"):
        open_image(path)


def test_that_filter_refuses_huge_pictures_from_their_headers(tmp_path):
    # That one is valid, as its small sister shows.
    files = TOO_SHORT | {"webp": one_colour_webp(16_383, 16_383), "small": one_colour_webp(90, 70)}
    assert len(files["webp"]) == 34
    for kind, data in files.items():
        (tmp_path / kind).write_bytes(data)
    refused = dict(zip(files, openings(*(tmp_path / kind for kind in files), way="filter"), strict=True))
    assert "filtering and saving its 16,383 x 16,383 pixels takes" in refused["webp"].refusal
    assert refused.pop("small").decoded_bytes == 90 * 70 * 3
    for one in refused.values():
        assert one.refusal
        # Of the processor: decoding any of them takes seconds.
        assert one.cpu_s < 0.5
        assert one.peak_bytes < 100_000_000


def test_that_the_alpha_of_a_lossy_webp_counts_for_the_budget(tmp_path):
    data = with_pillow(np.dstack([smooth_rgb(), smooth_rgb()[..., :1]]), "WEBP")
    path = tmp_path / "a.webp"
    path.write_bytes(data)
    decoded = open_image(path).pixels.size * 4 // 3
    with pytest.raises(ImageReadError, match="decoding its 41 x 37 pixels takes"):
        open_image(path, max_bytes=decoded + len(data))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "jpeg-progressive"])
def test_that_no_picture_of_one_colour_is_taken_for_a_file_cut_short(tmp_path, kind):
    flat = Image.new("L" if kind == "GIF" else "RGB", (3001, 2003))
    options = {
        "PNG": {"compress_level": 9},
        "TIFF": {"compression": "tiff_deflate"},
        "WEBP": {"lossless": True},
    }
    name, _, progressive = kind.partition("-")
    more = {"progressive": True, "optimize": True, "quality": 1} if progressive else options.get(kind, {})
    path = tmp_path / "flat"
    path.write_bytes(with_pillow(flat, name.upper(), **more))
    picture = open_image(path)
    assert picture.pixels.shape[:2] == (2003, 3001)
    assert (picture.pixels == picture.pixels[0, 0]).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(300, 200), (300, 200, 2), (300, 200, 3), (300, 200, 4)])
def test_that_a_png_read_in_bands_is_the_same(tmp_path, monkeypatch, dtype, shape):
    import imagecodecs

    y, x = np.indices(shape[:2])
    image = np.random.default_rng(4).integers(0, 9, shape) + (x + 2 * y).reshape(
        300, 200, *(1,) * (len(shape) - 2)
    )
    image = (image * (1 if dtype == np.uint8 else 77)).astype(dtype)
    path = tmp_path / "a.png"
    path.write_bytes(imagecodecs.png_encode(image))
    whole = open_image(path)
    monkeypatch.setattr(png_module, "_HELD_BYTES", 0)
    monkeypatch.setattr("engine.image.scratch._BAND_BYTES", 7000)
    banded = open_image(path)
    assert np.array_equal(whole.pixels, banded.pixels)
    assert whole.pixels.any()
    assert whole.alpha is None or np.array_equal(whole.alpha, banded.alpha)


def test_that_a_png_read_in_bands_keeps_its_clear_colour_and_stands_upright(tmp_path, monkeypatch):
    exif = Image.Exif()
    exif[274] = 6
    path = tmp_path / "a.png"
    path.write_bytes(with_pillow(smooth_rgb(90, 70), "PNG", transparency=(10, 232, 98), exif=exif))
    whole = open_image(path)
    monkeypatch.setattr(png_module, "_HELD_BYTES", 0)
    monkeypatch.setattr("engine.image.scratch._BAND_BYTES", 700)
    banded = open_image(path)
    assert whole.pixels.shape == (70, 90, 3)
    assert np.array_equal(whole.pixels, banded.pixels)
    assert np.array_equal(whole.alpha, banded.alpha)


@pytest.mark.parametrize("kind", one_of_each())
def test_that_bands_of_any_size_make_the_same_picture(tmp_path, monkeypatch, kind):
    path = tmp_path / "a"
    path.write_bytes(one_of_each()[kind])
    whole = open_image(path).pixels
    monkeypatch.setattr("engine.image.scratch._BAND_BYTES", 500)
    assert np.array_equal(open_image(path).pixels, whole)


FORM = Form(10_000, 10_000, 3, False, np.dtype(np.uint8))


@pytest.mark.parametrize(
    ("output", "more", "expected"),
    [
        # Picture and float32 result.
        ("o.png", {}, 300 + 1200 + 300),
        ("o.png", {"border": "constant"}, 300 + 1200 + 1200),
        ("o.tif", {"depth": "float32"}, 300 + 1200 + 1200),
        ("o.webp", {}, 300 + 600 + 1600),
    ],
)
def test_that_the_budget_counts_the_largest_step_of_filter(output, more, expected):
    options = argparse.Namespace(
        **{"depth": "keep", "border": "zero", "variant": "auto", "result_type": "float32"} | more
    )
    assert work_bytes(options, output)(FORM) == expected * 10**6


def test_that_a_picture_that_could_be_opened_is_refused_where_its_work_is_too_much(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(with_pillow(smooth_rgb(), "PNG"))
    open_image(path, max_bytes=10_000)
    with pytest.raises(
        ImageReadError, match=r"filtering and saving its 41 x 37 pixels takes 29\.6 KiB, the limit is 9\.8"
    ):
        open_image(
            path,
            max_bytes=10_000,
            work_bytes=lambda form: 5 * form.decoded_bytes,
            work="filtering and saving",
        )
