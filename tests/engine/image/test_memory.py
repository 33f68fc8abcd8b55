"""What opening takes: memory in the size of the picture, and no time where pixels must be missing."""

import argparse
from itertools import product

import numpy as np
import pytest
from PIL import Image

from bench.open_memory import FACTOR, kinds, openings, photograph
from engine.commands.filter_steps import work_bytes
from engine.device.core_count import cores
from engine.image.form import Form
from engine.image.scratch import Scratch
from tests.engine.image import encoded
from tests.engine.image.encoded import one_colour_webp, smooth_rgb, with_pillow

# Bands, buffers and files up to 64 MB that are held: the same for every size. A second copy of these pictures
# is more. Each core holds a band of about 1 MB in several types: 2 MB more each on 16 cores.
ALLOWANCE_BYTES = 30_000_000 + 2_000_000 * cores()

TIFFS = "tiff-planar-16", "tiff-one-strip", "tiff-float64"
KINDS = "png-alpha", "jpeg", "jpeg-turned", "webp", "gif", *TIFFS


@pytest.fixture(scope="module")
def photo():
    return photograph(3000, 4000)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "way"), [*product(KINDS, ["library"]), ("png-alpha", "window")])
def test_that_opening_takes_at_most_half_as_much_again_as_the_picture(tmp_path, photo, kind, way):
    path = tmp_path / kind
    path.write_bytes(kinds()[kind](photo))
    (one,) = openings(path, way=way)
    assert not one.refusal
    assert one.decoded_bytes
    assert one.peak_bytes <= FACTOR * one.decoded_bytes + ALLOWANCE_BYTES


def test_that_scratch_memory_is_given_back_and_its_neighbours_kept():
    scratch = Scratch((64, 1000), np.uint8)
    scratch.array[:] = 7
    scratch.give_back(scratch.array[:32])
    assert (scratch.array[32:] == 7).all()


TOO_SHORT = {
    "jpeg": encoded.jpeg_header(12_000, 12_000),
    "png": encoded.png_header(1_000_000, 1_000),
    "webp": encoded.webp_header(16_383, 16_383),
    "tiff": encoded.tiff_header(30_000, 30_000),
}


@pytest.mark.parametrize("kind", TOO_SHORT)
def test_that_a_file_too_short_for_its_size_is_refused_before_it_is_decoded(refused, monkeypatch, kind):
    def decode(*arguments):
        raise AssertionError("memory was taken")

    for module in ("png", "tiff", "webp", "pillow"):
        monkeypatch.setattr(f"engine.image.{module}.Canvas", decode)
    monkeypatch.setattr("engine.image.pillow._map", decode)
    assert refused(TOO_SHORT[kind]).why.endswith("it was cut short or its header is damaged")


@pytest.mark.slow
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


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "jpeg-progressive"])
def test_that_no_picture_of_one_colour_is_taken_for_a_file_cut_short(opened, kind):
    flat = Image.new("L" if kind == "GIF" else "RGB", (2001, 1503))
    options = {
        "PNG": {"compress_level": 9},
        "TIFF": {"compression": "tiff_deflate"},
        "WEBP": {"lossless": True},
        "jpeg-progressive": {"progressive": True, "optimize": True, "quality": 1},
    }.get(kind, {})
    picture = opened(with_pillow(flat, kind.partition("-")[0].upper(), **options))
    assert picture.pixels.shape[:2] == (1503, 2001)
    assert (picture.pixels == picture.pixels[0, 0]).all()


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


def test_that_the_budget_counts_the_alpha_of_a_lossy_webp_and_the_work_after_opening(opened, refused):
    data = with_pillow(np.dstack([smooth_rgb(), smooth_rgb()[..., :1]]), "WEBP")
    decoded = opened(data).pixels.size * 4 // 3
    assert "decoding its 41 x 37 pixels takes" in refused(data, max_bytes=decoded + len(data)).why
    data = with_pillow(smooth_rgb(), "PNG")
    opened(data, max_bytes=10_000)
    work = {"work_bytes": lambda form: 5 * form.decoded_bytes, "work": "filtering and saving"}
    why = refused(data, max_bytes=10_000, **work).why
    assert why == "filtering and saving its 41 x 37 pixels takes 29.6 KiB, the limit is 9.8 KiB"
