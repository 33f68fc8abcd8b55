"""Damage that a codec without a checksum leaves unsaid, and whole pictures with damage around them."""

import io
import re
import struct
import warnings

import imagecodecs
import numpy as np
import pytest
import simplejpeg
import tifffile
from PIL import Image, ImageCms, ImageDraw

from engine.errors import CodeNotKept, ImageReadError
from engine.image.faults import ignored_warnings
from engine.image.formats.avif import sizes
from engine.image.formats.jpeg import DAMAGED, NO_END
from engine.image.formats.png import SURPLUS
from tests.engine.image import encoded
from tests.engine.image.encoded import one_of_each, retagged, smooth_rgb, with_pillow, with_tifffile

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
def test_that_a_damaged_fax_is_noted_or_refused(opened):
    for compression in FAX:
        whole = with_pillow(scan(), "TIFF", compression=compression)
        ((begin, size),) = segments_of(whole)
        bits = np.random.default_rng(5).choice(8 * size, 60, replace=False) + 8 * begin
        silent, changed = silent_ones(opened, whole, (flipped(whole, int(bit)) for bit in bits))
        # libtiff warns of 94 to 99 of 100.
        assert changed > 50
        assert silent <= 6
        half = whole[: begin + size // 2] + bytes(size - size // 2) + whole[begin + size :]
        assert silent_ones(opened, whole, [half])[0] == 0


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
    half = whole[: begin + size // 2] + bytes(size - size // 2) + whole[begin + size :]
    assert opened(half).notes == (DAMAGED,)


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


def test_that_a_profile_anywhere_before_the_pixels_is_kept_and_a_bad_one_is_noted(opened):
    half = len(PROFILE) // 2
    halves = profile_part(2, 2, PROFILE[half:]) + profile_part(1, 2, PROFILE[:half])
    for after in (0xE0, 0xC0):
        for whole in (profile_part(1, 1), halves):
            picture = opened(with_segment(whole, after=after))
            assert (picture.icc_profile, picture.notes) == (PROFILE, ())
        for bad in (profile_part(1, 2), 2 * profile_part(1, 1), profile_part(1, 1, b"")):
            picture = opened(with_segment(bad, after=after))
            assert np.array_equal(picture.pixels, opened(PHOTO).pixels)
            assert (picture.icc_profile, len(picture.notes)) == (None, 1)


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


CANARY = 0xA5
GUARD_BYTES = 2**17
RGB = smooth_rgb()
DEEP = RGB.astype(np.uint16) * 4
SEVERAL = np.stack([RGB, RGB[::-1], RGB[:, ::-1]])


def guarded(decode, name, overflows):
    """Return a decoder that gets a larger array, in which nothing may change behind the one asked for."""

    def decoder(*given, **how):
        out = how.get(name)
        if not isinstance(out, np.ndarray):
            result = decode(*given, **how)
            if not isinstance(result, np.ndarray) or name != "out":
                return result
            # It took memory of its own: the same call into an array of that size.
            out = np.empty_like(result)
        memory = np.full(out.nbytes + GUARD_BYTES, CANARY, np.uint8)
        inner = memory[: out.nbytes].view(out.dtype).reshape(out.shape)
        decode(*given, **how | {name: inner})
        if (memory[out.nbytes :] != CANARY).any():
            overflows.append(decode.__name__)
        out[...] = inner
        return out

    return decoder


@pytest.fixture
def overflows(monkeypatch):
    found = []
    for decoder in ("png", "webp", "avif", "jpegxl", "jpeg8", "jpeg2k"):
        name = f"{decoder}_decode"
        monkeypatch.setattr(imagecodecs, name, guarded(getattr(imagecodecs, name), "out", found))
    monkeypatch.setattr(simplejpeg, "decode_jpeg", guarded(simplejpeg.decode_jpeg, "buffer", found))
    return found


@pytest.mark.slow
def test_that_no_decoder_writes_past_its_array(opened, overflows):
    rgba = np.dstack([RGB, RGB[..., 0]])
    inner = (*encoded.inner_encoders(), "zstd", "packbits")
    files = {kind: with_tifffile(RGB, photometric="rgb", compression=kind) for kind in inner}
    files |= one_of_each() | {
        "avif-alpha": bytes(imagecodecs.avif_encode(rgba)),
        "avif of 12 bit": bytes(imagecodecs.avif_encode(DEEP, bitspersample=12)),
        "jpegxl-alpha": bytes(imagecodecs.jpegxl_encode(rgba)),
        "fax": with_pillow(Image.fromarray(RGB).convert("1"), "TIFF", compression="group4"),
    }
    for kind, data in files.items():
        assert opened(data).pixels.shape[:2] == RGB.shape[:2], kind
        assert overflows == [], kind


def test_that_of_several_pictures_the_first_is_decoded_and_nothing_is_written_behind_it(opened, overflows):
    frames = [Image.fromarray(frame) for frame in SEVERAL]
    animated = {"save_all": True, "append_images": frames[1:]}
    files = {kind: with_pillow(frames[0], kind, **animated) for kind in ("PNG", "GIF", "WEBP", "TIFF", "MPO")}
    files["JPEG XL"] = bytes(imagecodecs.jpegxl_encode(SEVERAL, lossless=True))
    for kind, data in files.items():
        picture = opened(data)
        assert overflows == [], kind
        exact = np.abs(picture.pixels / (257 if picture.dtype == np.uint16 else 1) - RGB).mean()
        assert exact < (0.1 if kind in ("PNG", "TIFF", "JPEG XL") else 12), kind
        (note,) = [note for note in picture.notes if "sRGB" not in note]
        assert re.fullmatch("It has 3 (frames|pages); the first was opened.", note), kind


@pytest.mark.slow
def test_that_an_avif_whose_header_says_another_size_than_its_pixels_says_so(opened, refused):
    def larger(data, width, height):
        at = data.index(b"ispe") + 8
        return data[:at] + struct.pack(">II", width, height) + data[at + 8 :]

    data, size = with_pillow(RGB, "AVIF"), (RGB.shape[1], RGB.shape[0])
    assert sizes(data) == ({size}, {size})
    picture = opened(larger(data, 82, 74))
    assert picture.pixels.shape == (74, 82, 3)
    assert "41 × 37" in picture.notes[0]
    # What is coded is decoded first, however small the picture will be.
    small = larger(with_pillow(np.zeros((700, 700, 3), np.uint8), "AVIF"), 20, 20)
    assert "decoding" in refused(small, max_bytes=2**20).why


@pytest.mark.slow
def test_that_a_file_cut_into_too_many_pieces_is_refused(refused):
    """Small files of far more pieces than a picture has."""
    many = 70_000
    png, gif = with_pillow(RGB, "PNG"), with_pillow(RGB, "GIF")
    at, after = png.index(b"IDAT") - 4, 13 + (3 << (gif[10] & 7) + 1)
    empty = b"\0\0\0\0IDAT" + struct.pack(">I", 0x35AF061E)
    jpeg = with_pillow(RGB, "JPEG")
    boxed = bytes(imagecodecs.jpegxl_encode(RGB, usecontainer=True))
    begin = boxed.index(b"jxlc") - 4
    files = {
        "comments of a JPEG": jpeg[:2] + many * b"\xff\xfe\0\2" + jpeg[2:],
        "beginnings of a JPEG": jpeg[:2] + many * b"\xff\xd8" + jpeg[2:],
        "chunks of a PNG": png[:at] + many * empty + png[at:],
        "extensions of a GIF": gif[:after] + 4 * many * b"!\xfe\0" + gif[after:],
        "boxes of an AVIF": with_pillow(RGB, "AVIF") + many * struct.pack(">I4s", 8, b"free"),
        "boxes of a JPEG XL": boxed[:begin] + many * struct.pack(">I4s", 8, b"free") + boxed[begin:],
    }
    for kind, data in files.items():
        assert refused(data).why, kind


def test_that_chunks_without_end_take_nothing_of_a_webp(opened):
    webp = with_pillow(RGB, "WEBP")
    more = webp[12:] + 70_000 * (b"JUNK" + bytes(4))
    picture = opened(b"RIFF" + struct.pack("<I", 4 + len(more)) + b"WEBP" + more)
    assert np.array_equal(picture.pixels, opened(webp).pixels)


@pytest.mark.slow
def test_that_pillow_reads_no_more_exif_than_a_picture_has(opened):
    jpeg = with_pillow(RGB, "JPEG")
    segment = b"\xff\xe1" + struct.pack(">H", 60_008) + b"Exif\0\0" + bytes(60_000)
    picture = opened(jpeg[:2] + 300 * segment + jpeg[2:])
    assert np.array_equal(picture.pixels, opened(jpeg).pixels)
    assert len(picture.metadata.exif) <= 2**20


def test_that_pillow_gets_the_frame_of_a_gif_that_was_measured(opened):
    """Where a block is empty, Pillow takes what follows for its data: by itself it finds the second frame."""
    frame = b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\0"
    hidden = b"," + struct.pack("<HHHHB", 0, 0, 9_000, 9_000, 0) + b"\x02\x02\x44\x01\0"
    # Our block of 15 bytes is what follows an empty one for Pillow.
    data = encoded.gif(1, 1)[:13] + b"!\xf9\0" + b"\x0f" + frame + b"\0" + hidden + b";"
    assert Image.open(io.BytesIO(data)).size == (9_000, 9_000)
    assert opened(data).pixels.shape[:2] == (1, 1)
