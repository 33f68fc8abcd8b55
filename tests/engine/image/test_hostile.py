"""Damaged files that would open as other pixels, and small ones that would take all memory or minutes."""

import gc
import io
import itertools
import json
import re
import struct
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

from engine.errors import ImageReadError
from engine.image.formats import jpeg, png
from engine.image.formats.png import SURPLUS, png_chunk
from engine.image.large.opening import open_large
from tests.engine.image import encoded
from tests.engine.image.encoded import smooth_rgb, with_pillow, with_tifffile
from tests.engine.image.open_memory import openings
from tests.fresh_python import fresh_python

PHOTO = encoded.photograph(300, 300)
PROGRESSIVE = with_pillow(PHOTO, "JPEG", quality=80, progressive=True)


def test_that_a_jpeg_whose_decoder_gives_up_after_a_warning_is_refused(refused):
    for mode in ("RGB", "L", "CMYK"):
        whole = with_pillow(Image.fromarray(PHOTO).convert(mode), "JPEG", quality=80, progressive=True)
        assert "damaged" in refused(encoded.half_decoded(whole, 400, 0x55)).why


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="glibc fills new memory with a value on demand")
def test_that_no_damaged_jpeg_opens_as_memory_that_was_never_written(tmp_path):
    generator = np.random.default_rng(4)
    paths = []
    for number in range(60):
        scan = (0, 31, 0x47) if number % 2 else tuple(generator.integers(0, 255, 3))
        path = tmp_path / str(number)
        path.write_bytes(encoded.half_decoded(PROGRESSIVE, int(generator.integers(60, 500)), 0x55, scan))
        paths.append(str(path))
    code = f"""
import hashlib
from engine.errors import ImageReadError
from engine.image.open import open_image
for path in {json.dumps(paths)}:
    try:
        print(hashlib.sha256(open_image(path).pixels.tobytes()).hexdigest())
    except ImageReadError as error:
        print(error.why)
"""
    of_one, of_other = (fresh_python("-c", code, MALLOC_PERTURB_=value) for value in ("85", "170"))
    assert len(of_one.splitlines()) == len(paths)
    assert of_one == of_other


def test_that_surplus_before_the_end_and_a_warning_about_whole_pixels_refuse_nothing(opened):
    whole = opened(PROGRESSIVE).pixels
    longer = PROGRESSIVE[:-2] + bytes(500) + PROGRESSIVE[-2:]
    assert np.array_equal(opened(longer).pixels, whole)


def test_that_a_file_of_too_many_scans_is_refused(monkeypatch, opened, refused):
    for options in ({}, {"progressive": True}, {"subsampling": 0, "progressive": True}):
        frame = jpeg.frame_of(with_pillow(PHOTO, "JPEG", **options))
        blocks = 3 * 38 * 38
        assert frame.end
        assert blocks / 3 < frame.scanned_blocks <= 6 * blocks
    many = encoded.jpeg_of_scans(80, 80, 30)
    assert jpeg.frame_of(many).scanned_blocks == 30 * 100
    assert (opened(many).pixels == 128).all()
    monkeypatch.setattr(jpeg, "MAX_SCANNED_BLOCKS", 2_999)
    monkeypatch.setattr(jpeg, "_USUAL_ROUNDS", 0)
    assert refused(many).why == "its 30 scans go over 3,000 blocks of pixels, the limit is 2,999"
    monkeypatch.setattr(jpeg, "MAX_SCANNED_BLOCKS", 1_000)
    cmyk = with_pillow(Image.fromarray(PHOTO).convert("CMYK"), "JPEG", progressive=True)
    for data in (cmyk, with_tifffile(PHOTO, photometric="rgb", compression="jpeg", rowsperstrip=300)):
        assert "blocks of pixels, the limit is 1,000" in refused(data).why


def test_that_a_jpeg_with_a_marker_amid_its_data_is_refused(refused):
    data = with_pillow(PHOTO, "JPEG", quality=80)
    place = (encoded.scans_of(data)[0] + len(data)) // 2
    for marker in (b"\xff\x01", b"\xff\xd9"):
        assert "before its last row" in refused(data[:place] + marker + data[place + 2 :]).why


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["JPEG", "strip of a TIFF"])
def test_that_damage_amid_the_data_of_a_jpeg_is_noted_or_refused(opened, kind):
    """Each of its parts between restarts is damaged in turn, so that its data is too short or too long."""
    whole = with_pillow(PHOTO, "JPEG", quality=80, restart_marker_rows=1)
    around = (lambda data: encoded.tiff_around(data, 300, 300, 7)) if kind != "JPEG" else bytes
    expected = opened(around(whole))
    assert expected.notes == ()
    restarts = [found.start() for found in re.finditer(rb"\xff[\xd0-\xd7]", whole)]
    outcomes = set()
    for begin, end in itertools.pairwise(restarts):
        part = whole[begin + 2 : end]
        for damaged in (b"", part + bytes(40), part[: len(part) // 2] + part):
            try:
                picture = opened(around(whole[: begin + 2] + damaged + whole[end:]))
            except ImageReadError:
                outcomes.add("refused")
            else:
                assert picture.notes == (jpeg.DAMAGED,)
                outcomes.add("same" if np.array_equal(picture.pixels, expected.pixels) else "other")
    assert outcomes == {"refused", "same", "other"}


def test_that_a_strip_of_jpeg_that_simplejpeg_does_not_read_is_checked_for_its_end(opened, refused):
    grey = np.ascontiguousarray(PHOTO[..., 0])
    options = {"photometric": "minisblack", "planarconfig": "contig", "extrasamples": ["unassalpha"]}
    data = with_tifffile(np.dstack([grey, grey]), compression="jpeg", rowsperstrip=300, **options)
    picture = opened(data)
    assert picture.alpha is not None
    assert picture.notes == ()
    place = (encoded.scans_of(data)[0] + data.rindex(b"\xff\xd9")) // 2
    assert "before its last row" in refused(data[:place] + b"\xff\xd9" + data[place + 2 :]).why


def test_that_a_tiff_cut_by_any_byte_of_its_tags_is_refused(opened, refused):
    for mode in ["RGB", "RGBA", "L"]:
        for compression in ["tiff_lzw", "tiff_adobe_deflate", "packbits"]:
            data = encoded.libtiff(mode, compression)
            assert opened(data).notes == ()
            for count in range(1, 33):
                refused(data[:-count])


def test_that_a_tiff_that_lost_a_tag_opens_with_a_note_unless_it_is_of_the_pixels(opened, refused):
    options = {"photometric": "rgb", "resolution": (300, 300), "resolutionunit": "INCH"}
    options |= {"description": "a text", "software": "a program", "datetime": "2026:11:26 12:00:00"}
    data = with_tifffile(smooth_rgb(), extratags=[(65000, 2, 9, "12345678", True)], **options)
    for tag in [270, 282, 283, 305, 306, 65000]:
        with tifffile.TiffFile(io.BytesIO(data)) as tiff:
            place = tiff.pages[0].tags[tag].offset
        picture = opened(data[: place + 8] + struct.pack("<I", len(data)) + data[place + 12 :])
        assert np.array_equal(picture.pixels, smooth_rgb())
        assert picture.notes == (f"Its tag {tag} cannot be read: the file is damaged.",)
    # BitsPerSample, of a type that there is not.
    place = data.index(struct.pack("<HH", 258, 3))
    assert "its tag 258" in refused(data[: place + 2] + b"\x63\0" + data[place + 4 :]).why


def test_that_a_gif_is_measured_before_it_is_opened(opened, refused, monkeypatch):
    picture = opened(encoded.gif(1, 1))
    assert picture.pixels.shape == (1, 1)
    monkeypatch.setattr("engine.image.formats.gif.read_with_pillow", None)
    for limit in (64 * 2**20, 4 * 2**30):
        assert "65,535 × 65,535 pixels take" in refused(encoded.gif(65_535, 65_535), max_bytes=limit).why
    assert "its first frame has" in refused(encoded.gif(20_000, 20_000)).why
    # A frame larger than the screen makes the picture as large.
    framed = bytearray(encoded.gif(65_535, 65_535))
    framed[6:10] = struct.pack("<HH", 8, 8)
    assert "65,535 × 65,535 pixels" in refused(bytes(framed)).why
    for cut in range(6, 36):
        assert refused(encoded.gif(1, 1)[:cut]).why


@pytest.mark.slow
def test_that_small_files_take_little_memory_and_time(tmp_path):
    """Every small file that took much, and the largest picture that it may take for."""
    text = encoded.raw_profile(16 * 2**20 - 200)
    damaged = png_chunk(b"zTXt", encoded.with_wrong_checksum(text[8:-4]))
    rows = [bytes(24)] * 8
    profile = png_chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(4 * 10**7), 9))
    comment = png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(7_900_000), 9))
    files = {
        "webp": encoded.one_colour_webp(16_383, 16_383),
        "jpeg": encoded.jpeg_header(12_000, 12_000),
        "png": encoded.png_header(1_000_000, 1_000),
        "tiff": encoded.tiff_header(30_000, 30_000),
        "scans": encoded.jpeg_of_scans(12_000, 12_000, 206),
        "more scans": encoded.jpeg_of_scans(3_000, 3_000, 10_000),
        "gif": encoded.gif(65_535, 65_535),
        "texts": encoded.png(rows, 8, extra=20 * text),
        "damaged texts": encoded.png(rows, 8, extra=20 * damaged),
        "comments": encoded.png(rows, 8, extra=40 * comment),
        "profile": encoded.png(rows, 8, extra=profile),
    }
    files |= {f"inner {kind}": encoded.inner_tiff(kind, 3_000) for kind in encoded.inner_encoders()}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = dict(zip(files, openings(*(("filter", tmp_path / name) for name in files)), strict=True))
    for name, one in found.items():
        is_text = name.endswith(("texts", "comments", "profile"))
        assert bool(one.refusal) != is_text, name
        # Time of the processor. The texts that are read, 16 MB at most, are held in three forms.
        assert one.cpu_s < 2, name
        assert one.peak_bytes < (6 * 16 * 2**20 if is_text else 10_000_000), name


def test_that_a_strip_that_is_a_picture_of_another_size_is_refused_before_it_is_decoded(refused, monkeypatch):
    files = [encoded.inner_tiff(kind, 600) for kind in encoded.inner_encoders()]
    monkeypatch.setattr(tifffile.TiffPage, "decode", None)
    for data in files:
        assert "holds 600 × 600 pixels, its tags say 8 × 8" in refused(data).why


@pytest.mark.slow
@pytest.mark.parametrize("kind", encoded.inner_encoders())
def test_that_strips_and_tiles_that_are_pictures_open_at_every_size(opened, kind):
    layouts = ({}, {"rowsperstrip": 16}, {"tile": (32, 32)}, {"planarconfig": "separate"})
    for rows, columns in ((8, 8), (37, 41), (64, 96), (130, 258)):
        for layout in layouts:
            rgb = smooth_rgb(rows, columns)
            stored = np.ascontiguousarray(np.moveaxis(rgb, 2, 0)) if "planarconfig" in layout else rgb
            picture = opened(with_tifffile(stored, photometric="rgb", compression=kind, **layout))
            # JPEG is not exact.
            assert np.abs(picture.pixels.astype(int) - rgb).mean() < 8, (rows, columns, layout)
            with open_large(picture.source) as parts:
                found = parts.read(0, slice(3, rows), slice(5, columns))
            assert np.array_equal(found, picture.pixels[3:, 5:]), (rows, columns, layout)


def test_that_an_inner_picture_without_its_end_is_refused(refused):
    data = with_tifffile(PHOTO, photometric="rgb", compression="jpeg", rowsperstrip=300)
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        (count,) = tiff.pages[0].databytecounts
    assert "ends before its last row" in refused(encoded.retagged(data, StripByteCounts=count - 20)).why


def test_that_other_inner_pictures_are_refused_before_they_are_decoded(refused, monkeypatch):
    monkeypatch.setattr(tifffile.TiffPage, "decode", None)
    for compression in (34887, 34933, 34934, 50001, 50002):
        assert "its compression is" in refused(encoded.tiff_around(bytes(100), 8, 8, compression)).why


ROWS = [bytes(range(3 * row, 3 * row + 24)) for row in range(8)]
RGB_8 = np.array([list(row) for row in ROWS], np.uint8).reshape(8, 8, 3)


def test_that_surplus_in_the_compressed_pixels_of_a_png_is_noted(opened, capfd):
    for damage in (lambda one: one + b"more", lambda one: zlib.compress(zlib.decompress(one) + b"more")):
        picture = opened(encoded.png(ROWS, 8, damage=damage))
        assert np.array_equal(picture.pixels, RGB_8)
        assert picture.notes == (SURPLUS,)
    assert capfd.readouterr() == ("", "")


def test_that_a_png_with_a_wrong_checksum_or_none_or_with_an_unknown_critical_chunk_is_refused(refused):
    refused(encoded.png(ROWS, 8, extra=png_chunk(b"ABCD", b"x")))
    refused(encoded.png(ROWS, 8, damage=encoded.with_wrong_checksum))
    for count in range(1, 5):
        refused(encoded.png(ROWS, 8, damage=lambda stream, count=count: stream[:-count]))


def test_that_a_colour_past_the_end_of_a_palette_is_black_with_a_note(opened, refused):
    for depth in [1, 2, 4, 8]:
        colours = png_chunk(b"PLTE", bytes([10, 20, 30]))
        opacity = png_chunk(b"tRNS", bytes([7]))
        # The first index of each byte is 0 and the last 1.
        rows = [bytes([1])] * 3
        width = 8 // depth
        beyond = opened(encoded.png(rows, width, depth, 3, colours + opacity))
        assert beyond.pixels.shape == (3, width, 3)
        assert (beyond.pixels[:, :-1] == (10, 20, 30)).all()
        assert (beyond.alpha[:, :-1] == 7).all()
        assert (beyond.pixels[:, -1] == 0).all()
        assert (beyond.alpha[:, -1] == 255).all()
        assert beyond.notes == ("3 pixels name colours past the end of its palette, and became black.",)
        whole = opened(encoded.png([bytes([0])] * 3, width, depth, 3, colours))
        assert (whole.pixels == (10, 20, 30)).all()
        assert whole.notes == ()
        for extra in (b"", png_chunk(b"PLTE", bytes(4)), png_chunk(b"PLTE", bytes(3 * (2**depth + 1)))):
            assert refused(encoded.png(rows, width, depth, 3, extra)).why.startswith("its palette of ")


def test_that_texts_are_read_up_to_one_limit_together(monkeypatch, opened):
    turned = Image.Exif()
    turned[274] = 6
    digits = b"\nexif\n8\n" + turned.tobytes()[6:].hex().encode()
    last = png_chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(digits))
    before = encoded.raw_profile(3_000)
    data = encoded.png([bytes(24)] * 4, 8, extra=3 * before + last)
    assert opened(data).pixels.shape[:2] == (8, 4)
    monkeypatch.setattr(png, "_MAX_TEXT_BYTES", 9_000)
    assert opened(data).pixels.shape[:2] == (4, 8)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [2**20, pytest.param(4 * 2**20, marks=pytest.mark.matrix)])
def test_that_texts_take_memory_within_the_limit(opened, limit):
    """Texts and profiles of a PNG that would take much memory, and short ones, in all as long as told."""
    rows = [bytes(24)] * 8
    exif = b"Raw profile type exif\0"
    deflated = zlib.compress(bytes(16 * 2**20 - 1), 9)
    digits = b"\nexif\n8\n" + b"00 " * (limit // 6)
    files = {
        "zTXt": 4 * encoded.raw_profile(16 * 2**20 - 200),
        "many": 200 * encoded.raw_profile(100_000),
        "iTXt": 4 * png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + deflated),
        "iCCP": png_chunk(b"iCCP", b"x\0\0" + deflated),
        "tEXt": png_chunk(b"tEXt", exif + digits),
        "tEXts": 40 * png_chunk(b"tEXt", exif + digits[: len(digits) // 40]),
        "eXIf": png_chunk(b"eXIf", bytes(limit // 2)),
    }
    opened(encoded.png(rows, 8, extra=encoded.raw_profile(300)))  # imports what reads them
    gc.collect()
    for kind, texts in files.items():
        data = encoded.png(rows, 8, extra=texts)
        tracemalloc.start()
        try:
            assert opened(data, max_bytes=limit).pixels.shape == (8, 8, 3)
            assert tracemalloc.get_traced_memory()[1] < limit, kind
        finally:
            tracemalloc.stop()


def test_that_a_palette_after_more_texts_than_are_kept_is_read(opened):
    colours = png_chunk(b"PLTE", bytes([10, 20, 30])) + png_chunk(b"tRNS", bytes([7]))
    texts = 40 * png_chunk(b"tEXt", b"XML:com.adobe.xmp\0" + bytes(700))
    data = encoded.png([bytes(8)], 8, 8, 3, texts + colours)
    assert (opened(data, max_bytes=len(data)).alpha == 7).all()


def test_that_the_decoder_never_sees_texts(monkeypatch, opened):
    import imagecodecs

    seen = []
    decode = imagecodecs.png_decode
    monkeypatch.setattr(
        imagecodecs, "png_decode", lambda data, **out: seen.append(bytes(data)) or decode(data, **out)
    )
    opened(encoded.png(ROWS, 8, extra=encoded.raw_profile(300, b"Comment")))
    assert b"zTXt" not in seen[0]
