"""Opening pictures: what is read, what is refused, and the memory that it takes."""

import importlib
import os
import re
import struct
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.errors import ImageReadError
from engine.geometry.border import Border
from engine.image import formats
from engine.image.format import Budget, Form, Scratch
from engine.image.formats import format_to_save
from engine.image.open import open_image
from engine.process import cores
from tests.engine.commands.works import filter_of
from tests.engine.image import encoded, open_memory, png_witness
from tests.engine.image.encoded import smooth_rgb, with_pillow, with_tifffile
from tests.engine.image.open_memory import openings
from tests.fresh_python import ROOT

FILES = encoded.one_of_each()

SMALL = smooth_rgb(8, 8)
DEEP_JPEG = with_pillow(SMALL, "JPEG").replace(b"\x08\x00\x08\x00\x08\x03", b"\x0c\x00\x08\x00\x08\x03")
# Addresses, class names, names of constants, bare numbers in brackets: words for programmers.
INSIDE = re.compile(r"<|>|_io|0x|Error|\bNone\b|\(\d*\)|supported between|index out|dtype|\bbuffer\b|NULL")


def bmp(bits=24, compression=0, header_bytes=40):
    data = bytearray(with_pillow(SMALL, "BMP"))
    struct.pack_into("<I", data, 14, header_bytes)
    struct.pack_into("<HI", data, 28, bits, compression)
    return bytes(data)


def tiff(**tags):
    return encoded.retagged(with_tifffile(SMALL, photometric="rgb"), **tags)


@pytest.mark.parametrize("kind", FILES)
def test_that_first_bytes_decide_on_the_format(tmp_path, monkeypatch, kind):
    path = tmp_path / "picture"
    path.write_bytes(FILES[kind])
    picture = open_image(path)
    assert picture.format.lower() == kind.split("-")[0]
    assert picture.pixels.shape == (37, 41, 3)
    assert (picture.source, picture.alpha) == (path, None)
    assert picture.notes == () or kind == "jpeg xl"
    if kind == "tiff-planar-16":
        assert np.array_equal(picture.pixels, smooth_rgb().astype(np.uint16) * 257)
    elif kind == "gif":
        assert np.array_equal(picture.pixels, np.dstack([smooth_rgb()[..., 0]] * 3))
    elif kind in ("jpeg", "jpeg-progressive", "webp", "avif"):
        assert np.abs(picture.pixels.astype(int) - smooth_rgb()).mean() < 3
    else:
        assert np.array_equal(picture.pixels, smooth_rgb())
    monkeypatch.setattr("engine.image.convert._BAND_BYTES", 500)
    again = open_image(str(path.rename(tmp_path / "a.PNG")))
    assert np.array_equal(again.pixels, picture.pixels)
    named = f"It is named .png but is a {picture.format} file."
    assert again.notes == (*((named,) * (picture.format != "PNG")), *picture.notes)


def test_that_a_file_cut_short_is_refused(refused):
    for kind in FILES:
        data = FILES[kind]
        # BMP, GIF and text end in padding, a trailer or digits that no pixel needs.
        for length in (1, 3, 8, 20, 40, len(data) // 4, len(data) // 2, len(data) * 9 // 10, len(data) - 5):
            refused(data[:length])


def test_that_a_picture_over_the_limit_is_refused_without_its_memory(refused):
    bmp, sides = FILES["bmp"], b"\xff\xff\x00\x00\xff\xff\x00\x00"
    for data in (
        encoded.png_header(200_000, 200_000),
        bmp[:18] + sides + bmp[26:],
        encoded.tiff_header(200_000, 200_000),
        encoded.jpeg_header(65_500, 65_500),
        FILES["gif"].replace(b"GIF87a\x29\x00\x25\x00", b"GIF87a\xff\xff\xff\xff"),
    ):
        tracemalloc.start()
        try:
            why = refused(data, max_bytes=4 * 2**30).why
            assert tracemalloc.get_traced_memory()[1] < 10_000_000
        finally:
            tracemalloc.stop()
        assert "pixels take" in why
        assert "the limit is 4.0 GiB" in why


def test_that_a_file_over_the_limit_is_not_read(tmp_path, opened, refused):
    data = with_pillow(np.zeros((10, 10), np.uint8), "PNG")
    # Grey and perhaps alpha from a tRNS chunk: 200 bytes.
    assert opened(data, max_bytes=200).height == 10
    assert "200 bytes, the limit is 199 bytes" in refused(data, max_bytes=199).why
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(2**31)
    assert "the file has 2.0 GiB" in refused(tmp_path / "a.png", max_bytes=2**30).why
    data = with_pillow(np.dstack([smooth_rgb(), smooth_rgb()[..., :1]]), "WEBP")
    decoded = opened(data).pixels.size * 4 // 3
    assert "decoding its 41 × 37 pixels takes" in refused(data, max_bytes=decoded + len(data)).why
    data = with_pillow(smooth_rgb(), "PNG")
    opened(data, max_bytes=10_000)
    work = {"work_bytes": lambda form: 5 * form.decoded_bytes, "work": "filtering and saving"}
    why = refused(data, max_bytes=10_000, **work).why
    assert why == "filtering and saving its 41 × 37 pixels takes 29.6 KiB, the limit is 9.8 KiB"


def test_that_what_is_no_picture_is_refused_by_its_looks(refused):
    for content, words in [
        (b"", "zero bytes"),
        (b"\x89PN", "ends after 3 bytes"),
        (b"RIFF\0\0\0\0WE", "ends after 10 bytes"),
        (b"just a letter to you,\nwith two lines\n", "text"),
        ("grüße".encode() * 200, "text"),
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF document"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "a HEIC picture"),
        (b"\0\0\0\x18ftypisom\0\0\0\0", "a video"),
        (b"\0\0\0\x18ftypavis\0\0\0\0", "a sequence of AVIF pictures"),
        (b"RIFF\0\0\0\0WAVEfmt ", "a sound or video file"),
        (b'<?xml version="1.0"?>\n<svg xmlns="x"></svg>', "an SVG drawing"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"PK\x03\x04abcd", "a ZIP archive"),
        (bytes(range(256)) * 3, "unknown data"),
    ]:
        assert words in refused(content).why


def test_that_a_path_without_a_file_to_read_is_refused(refused, tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(b"x")
    assert refused(tmp_path / "none.png").why == "there is no such file"
    assert refused(tmp_path).why == "it is a folder"
    assert "not a folder" in refused(tmp_path / "a.png" / "b.png").why
    with pytest.raises(ImageReadError, match="not a possible path"):
        open_image("a\0b.png")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "a device or a pipe" in refused(tmp_path / "pipe").why

    def forbid(*arguments, **keywords):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("engine.files.reading.open", forbid, raising=False)
    assert refused(tmp_path / "a.png").why == "you may not read it"


@pytest.mark.parametrize(
    "error", [MemoryError(), KeyError(3), RuntimeError("two\nlines"), ZeroDivisionError()]
)
def test_that_any_library_error_leaves_as_ours(refused, monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(formats, "FORMATS", (replace(formats.FORMATS[0], decode=fail),))
    assert refused(FILES["png"]).__cause__ is error


def test_that_nothing_is_printed_for_an_interlaced_or_damaged_file(refused, capfd):
    open_image(ROOT / "tests" / "data" / "pngsuite" / "basi2c16.png")
    refused(FILES["tiff"][:300])
    assert capfd.readouterr() == ("", "")


def test_that_a_whole_file_of_a_kind_that_is_not_read_is_not_called_damaged(refused):
    for data, words in [
        (bmp(32, compression=6), "BMP is not supported: its channels and its alpha are named by masks"),
        (bmp(0, compression=4), "BMP is not supported: it holds a JPEG"),
        (bmp(2), "BMP is not supported: it has 2 bits per pixel"),
        (bmp(8, compression=1), "BMP is not supported: its pixels are packed in runs"),
        (bmp(4, compression=2), "BMP is not supported: its pixels are packed in runs"),
        (bmp(header_bytes=16), "BMP is not supported: it is one of OS/2"),
        (tiff(Compression=34676), "TIFF is not supported: its compression is SGILOG"),
        (tiff(Compression=24), "TIFF is not supported: its compression is of number 24"),
        (tiff(PhotometricInterpretation=32845), "TIFF is not supported: its pixels are LogLuv"),
        (with_tifffile(SMALL.astype(np.float32), photometric="cielab"), "are of colour model CIELAB"),
        (DEEP_JPEG, "JPEG is not supported: it has 12 bits per sample"),
    ]:
        error = refused(data)
        assert f"this kind of {words}" in error.why or words in error.why
        assert "damaged" not in str(error)
        assert "Save it as" in error.remedy


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.slow
def test_that_damaged_files_open_or_are_refused_without_the_inside_of_the_program(opened, kind):
    generator = np.random.default_rng(8)
    data = FILES[kind]
    damaged = [data[:length] for length in range(14, len(data), max(1, len(data) // 20))]
    for count in range(50):
        changed = bytearray(data)
        for position in generator.integers(2, min(len(data), 120 if count % 2 else len(data)), 4):
            changed[position] = generator.integers(256)
        damaged.append(bytes(changed))
    refusals = set()
    for content in damaged:
        try:
            picture = opened(content, max_bytes=10**8)
            assert picture.dtype in (np.uint8, np.uint16, np.float32)
        except ImageReadError as error:
            refusals.add(error.why)
    assert refusals
    assert [why for why in refusals if INSIDE.search(why)] == []


ALLOWANCE_BYTES = 30_000_000 + 2_000_000 * cores()

TIFFS = "tiff-planar-16", "tiff-float64"
KINDS = "png-alpha", "jpeg", "jpeg-turned", "webp", "gif", *TIFFS


@pytest.mark.slow
def test_that_opening_takes_at_most_half_as_much_again_as_the_picture(tmp_path):
    # Large in a moment, and deflated soon.
    photo = np.tile(encoded.photograph(200, 300), (10, 10, 1))
    for kind in KINDS:
        (tmp_path / kind).write_bytes(open_memory.encoded(kind, photo))
    files = [*(("library", tmp_path / kind) for kind in KINDS), ("window", tmp_path / KINDS[0])]
    for kind, one in zip(files, openings(*files), strict=True):
        assert not one.refusal, kind
        assert one.decoded_bytes, kind
        assert one.peak_bytes <= 1.5 * one.decoded_bytes + ALLOWANCE_BYTES, kind


def test_that_just_the_scratch_memory_is_given_back():
    scratch = Scratch((64, 1000), np.uint8)
    scratch.array[:] = 7
    scratch.give_back(scratch.array[:32])
    assert (scratch.array[32:] == 7).all()


def test_that_a_file_too_short_for_its_size_is_refused_before_it_is_decoded(refused, monkeypatch):
    monkeypatch.setattr(Budget, "canvas", None)
    for data in (
        encoded.jpeg_header(12_000, 12_000),
        encoded.png_header(1_000_000, 1_000),
        encoded.webp_header(16_383, 16_383),
        encoded.tiff_header(30_000, 30_000),
    ):
        assert refused(data).why.endswith("it was cut short or its header is damaged")


@pytest.mark.slow
def test_that_no_picture_of_one_colour_is_taken_for_a_file_cut_short(opened):
    for kind, options in [
        ("PNG", {"compress_level": 9}), ("TIFF", {"compression": "tiff_deflate"}),
        ("WEBP", {"lossless": True}), ("JPEG", {}), ("GIF", {}),
        ("JPEG", {"progressive": True, "optimize": True, "quality": 1}),
    ]:  # fmt: skip
        flat = Image.new("L" if kind == "GIF" else "RGB", (2001, 1503))
        picture = opened(with_pillow(flat, kind, **options))
        assert picture.pixels.shape[:2] == (1503, 2001)
        assert (picture.pixels == picture.pixels[0, 0]).all()


def test_that_the_budget_counts_the_largest_step_of_filter():
    for output, more, expected in [
        # Picture and float32 result.
        ("o.png", {}, 300 + 1200 + 300),
        ("o.png", {"border": Border.CONSTANT}, 300 + 1200 + 1200),
        # Sums between two passes over the whole picture.
        ("o.png", {"variant": "cpu-separable-serial"}, 300 + 1200 + 1200),
        ("o.tif", {"depth": "float32"}, 300 + 1200 + 1200),
        ("o.webp", {}, 300 + 600 + 1600),
    ]:
        how = filter_of("box-3", **{"result_type": "float32"} | more)
        form = Form(10_000, 10_000, 3, False, np.dtype(np.uint8))
        assert how.bytes_for(form, format_to_save(output)) == expected * 10**6


FOLDER = Path(__file__).resolve().parents[2] / "data" / "pngsuite"
PNGS = sorted(FOLDER.glob("*.png"))
VALID = [path for path in PNGS if not path.name.startswith("x")]
CORRUPT = [path for path in PNGS if path.name.startswith("x")]


@pytest.mark.slow
def test_that_each_valid_file_decodes_as_the_witness_does():
    wrong = []
    for path in VALID:
        picture = open_image(path)
        if path.stem in ("tbbn2c16", "tbgn2c16"):
            # Qt has the samples of such files in wrong places.
            assert np.array_equal(picture.alpha == 0, (picture.pixels == 65535).all(axis=2))
            continue
        expected = png_witness.decode(path.read_bytes())
        parts = [picture.pixels.reshape(*picture.pixels.shape[:2], -1)]
        if picture.alpha is not None:
            parts.append(picture.alpha[..., np.newaxis])
        decoded = np.concatenate(parts, axis=2)
        if picture.alpha is not None:
            decoded[decoded[..., -1] == 0] = expected[expected[..., -1] == 0] = 0
        if decoded.dtype != expected.dtype or not np.array_equal(decoded, expected):
            wrong.append(path.stem)
    assert wrong == []


def test_that_each_corrupt_file_of_the_suite_is_refused_in_words(refused):
    assert (len(VALID), len(CORRUPT)) == (161, 14)
    assert (FOLDER / "LICENSE").is_file()
    for path in CORRUPT:
        assert len(refused(path.read_bytes()).why) > 15, path.stem


@pytest.mark.slow
def test_that_a_file_cut_anywhere_or_with_one_flipped_bit_is_refused(refused):
    for path in VALID[:40:7]:
        data = path.read_bytes()
        for length in range(0, len(data), 1 + len(data) // 100):
            refused(data[:length])
    data = (FOLDER / "basn2c08.png").read_bytes()
    for position in range(len(data)):
        refused(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])


def test_that_a_package_that_is_not_installed_is_not_taken_for_a_damaged_file(monkeypatch, tmp_path):
    path = tmp_path / "fine.jpg"
    path.write_bytes(with_pillow(smooth_rgb(), "JPEG"))
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    with pytest.raises(ModuleNotFoundError, match="simplejpeg"):
        open_image(path)


def test_that_a_decoder_that_finds_no_memory_is_not_called_missing(monkeypatch, refused):
    real = importlib.import_module

    def loaded(name, package=None):
        if name.endswith("_png"):
            raise ImportError("_png.abi3.so: failed to map segment from shared object")
        return real(name, package)

    def not_loaded(*arguments, **options):
        raise ImportError("could not import name 'png_decode' from 'imagecodecs'")

    monkeypatch.setattr(importlib, "import_module", loaded)
    monkeypatch.setattr("imagecodecs.png_decode", not_loaded)
    error = refused(with_pillow(smooth_rgb(), "PNG"))
    assert "its decoder cannot be loaded: not enough memory" in error.why
