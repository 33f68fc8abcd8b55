"""Damage that a codec without a checksum leaves unsaid, and whole pictures with damage around them."""

import io
import struct
import warnings

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms, ImageDraw

from engine.errors import CodeNotKept, ImageReadError
from engine.image.faults import ignored_warnings
from engine.image.formats.jpeg import DAMAGED, NO_END
from engine.image.formats.png import SURPLUS
from tests.engine.image.encoded import retagged, smooth_rgb, with_pillow, with_tifffile

FAX = ("group3", "group4", "tiff_ccitt")


def scan():
    """A page of ones and zeros: text and curves."""
    page = Image.new("1", (203, 120), 1)
    drawing = ImageDraw.Draw(page)
    for line in range(6):
        drawing.text((10, 20 * line), f"Line {line} of a scanned page", fill=0)
        drawing.ellipse((120 + 5 * line, 15 * line, 160 + 5 * line, 15 * line + 30), outline=0)
    return page


def segments_of(data):
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        return list(zip(tiff.pages[0].dataoffsets, tiff.pages[0].databytecounts, strict=True))


def flipped(data, bit):
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


def silent_ones(opened, whole, variants):
    """Return how many damaged files open as other pixels without a word, and how many are not whole."""
    expected, silent, changed = opened(whole).pixels, 0, 0
    for data in variants:
        try:
            picture = opened(data)
        except ImageReadError:
            changed += 1
        else:
            is_other = not np.array_equal(picture.pixels, expected)
            changed += is_other
            silent += is_other and not picture.notes
    return silent, changed


def test_that_a_whole_fax_opens_exactly(opened):
    for compression in FAX:
        for options in [{}, {266: 2}, {292: 1}, {292: 5}, {278: 32}]:
            picture = opened(with_pillow(scan(), "TIFF", compression=compression, tiffinfo=options))
            assert np.array_equal(picture.pixels, np.asarray(scan()) * np.uint8(255))
            assert picture.notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("compression", FAX)
def test_that_a_damaged_fax_is_noted_or_refused(opened, compression):
    whole = with_pillow(scan(), "TIFF", compression=compression)
    ((begin, size),) = segments_of(whole)
    bits = np.random.default_rng(5).choice(8 * size, 60, replace=False) + 8 * begin
    silent, changed = silent_ones(opened, whole, (flipped(whole, int(bit)) for bit in bits))
    # libtiff warns of 94 to 99 of 100.
    assert changed > 50
    assert silent <= 6
    half = begin + size // 2
    assert (
        silent_ones(opened, whole, [whole[:half] + bytes(size - size // 2) + whole[begin + size :]])[0] == 0
    )


def test_that_lzw_with_more_than_its_rows_is_noted(opened):
    for extra in [{}, {"predictor": True}, {"tile": (16, 16)}]:
        for rows in [8, 37]:
            layout = extra or {"rowsperstrip": rows}
            data = with_tifffile(smooth_rgb(), photometric="rgb", compression="lzw", **layout)
            assert opened(data).notes == ()
            with tifffile.TiffFile(io.BytesIO(data)) as tiff:
                page = tiff.pages[0]
                counts, offsets = list(page.databytecounts), list(page.dataoffsets)
            strip = imagecodecs.lzw_decode(data[offsets[0] : offsets[0] + counts[0]])
            longer = bytes(imagecodecs.lzw_encode(strip + bytes(300)))
            kind = "Tile" if "tile" in layout else "Strip"
            offsets[0], counts[0] = len(data), len(longer)
            values = {f"{kind}Offsets": offsets, f"{kind}ByteCounts": counts}
            picture = opened(retagged(data + longer, **values))
            assert np.array_equal(picture.pixels, smooth_rgb())
            assert picture.notes == (SURPLUS,)


def test_that_jpeg_2000_without_its_end_is_noted(opened):
    whole = with_tifffile(smooth_rgb(), photometric="rgb", compression="jpeg2000", rowsperstrip=37)
    ((begin, size),) = segments_of(whole)
    assert opened(whole).notes == ()
    assert opened(whole[: begin + size // 2] + bytes(size - size // 2) + whole[begin + size :]).notes == (
        DAMAGED,
    )


@pytest.mark.parametrize("compression", [1, 2])
def test_that_runs_of_a_bmp_are_refused(refused, compression):
    data = bytearray(with_pillow(Image.fromarray(smooth_rgb()).quantize(16), "BMP"))
    data[30:34] = struct.pack("<I", compression)
    assert "packed in runs" in refused(bytes(data)).why


PHOTO = with_pillow(smooth_rgb(), "JPEG")
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def with_segment(segment, *, after):
    """A JPEG with bytes after the first segment of a kind."""
    at = 2
    while True:
        end = at + 2 + int.from_bytes(PHOTO[at + 2 : at + 4], "big")
        if PHOTO[at + 1] == after:
            return PHOTO[:end] + segment + PHOTO[end:]
        at = end


def profile_part(number, count, content=PROFILE):
    size = struct.pack(">H", 16 + len(content))
    return b"\xff\xe2" + size + b"ICC_PROFILE\0" + bytes((number, count)) + content


@pytest.mark.parametrize("after", [0xE0, 0xC0])
def test_that_a_profile_anywhere_before_the_pixels_is_kept_and_a_bad_one_is_noted(opened, after):
    half = len(PROFILE) // 2
    halves = profile_part(2, 2, PROFILE[half:]) + profile_part(1, 2, PROFILE[:half])
    for whole in (profile_part(1, 1), halves):
        picture = opened(with_segment(whole, after=after))
        assert picture.icc_profile == PROFILE
        assert picture.notes == ()
    for bad in (profile_part(1, 2), 2 * profile_part(1, 1), profile_part(1, 1, b"")):
        picture = opened(with_segment(bad, after=after))
        assert np.array_equal(picture.pixels, opened(PHOTO).pixels)
        assert picture.icc_profile is None
        assert len(picture.notes) == 1


def test_that_stray_bytes_between_segments_refuse_no_jpeg(opened):
    for after in [0xE0, 0xDB, 0xC0, 0xC4]:
        for stray in [b"\0", b"hello", b"ab\xff\0cd"]:
            picture = opened(with_segment(stray, after=after))
            assert np.array_equal(picture.pixels, opened(PHOTO).pixels)
            assert len(picture.notes) == 1


def test_that_a_jpeg_without_its_end_mark_opens_where_all_rows_are_there(opened, refused):
    for options in [{}, {"progressive": True}, {"subsampling": "4:1:1"}]:
        for mode in ["RGB", "L", "CMYK"]:
            data = with_pillow(Image.fromarray(smooth_rgb()).convert(mode), "JPEG", **options)
            picture = opened(data[:-2])
            assert np.array_equal(picture.pixels, opened(data).pixels)
            assert NO_END in picture.notes
            refused(data[:-6])
            if "progressive" in options:
                last_scan = data.rindex(b"\xff\xda")
                assert "before its last row" in refused(data[:last_scan]).why


def test_that_filters_are_as_before_when_files_were_opened_side_by_side():
    before, shown = list(warnings.filters), warnings.showwarning
    first, second = ignored_warnings(), ignored_warnings()
    first.__enter__()
    second.__enter__()
    # The one that began first ends first, as it does on two threads.
    first.__exit__(None, None, None)
    warnings.warn("damaged metadata", stacklevel=1)
    second.__exit__(None, None, None)
    assert (warnings.filters, warnings.showwarning) == (before, shown)
    with pytest.warns(UserWarning, match="of another kind"):
        warnings.warn("of another kind", stacklevel=1)


def test_that_code_that_cannot_be_kept_is_said_all_the_same():
    with pytest.warns(CodeNotKept), ignored_warnings():
        warnings.warn(CodeNotKept("Code", "the disk is full", "Make room."), stacklevel=1)
