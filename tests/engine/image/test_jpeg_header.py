"""The header that is read without Pillow says what Pillow says, or leaves the file to it."""

import io
import struct

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin

from engine.image.formats import jpeg
from engine.image.formats.jpeg import _header_of
from engine.image.formats.jpeg_header import plain_header
from engine.image.open import open_image
from tests.engine.image.encoded import smooth_rgb, with_pillow
from tests.engine.image.test_save import GREY_PROFILE, RGB_PROFILE
from tests.fresh_python import fresh_python

GREY = np.ascontiguousarray(smooth_rgb()[..., 0])


def pillows(data):
    with Image.open(io.BytesIO(data)) as image:
        return _header_of(image)


def resolution(header):
    """Whether a resolution is named: 0, 72 and 96 mean that there is none."""
    across = round(header.dpi[0]) if header.dpi else 0
    return across if across not in (0, 72, 96) else None


def same(ours, theirs):
    assert ours._replace(dpi=None) == theirs._replace(dpi=None)
    assert resolution(ours) == resolution(theirs)


def exif(*, dpi=None, unit=2, order="<", **tags):
    block = Image.Exif()
    block.endian = order
    block[271] = "A maker whose name is longer than four bytes"
    for tag, value in tags.items():
        block[int(tag.removeprefix("t"))] = value
    if dpi is not None:
        block[282], block[296] = TiffImagePlugin.IFDRational(dpi, 1), unit
    return block.tobytes()


XMP = b"<x:xmpmeta><rdf:Description tiff:Orientation='6'/></x:xmpmeta>"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dpi": (300, 300)},
        {"icc_profile": RGB_PROFILE},
        {"icc_profile": RGB_PROFILE + bytes(150_000)},
        {"xmp": XMP},
        {"comment": b"hello"},
        {"progressive": True},
        {"exif": exif()},
        *({"exif": exif(t274=turn)} for turn in range(10)),
        {"exif": exif(order=">", t274=6, dpi=240)},
        {"exif": exif(dpi=120, unit=3, t274=3), "xmp": XMP},
        {"exif": exif(dpi=400), "dpi": (300, 300)},
    ],
    # Not what they hold: a profile has the time when it was made, and each worker makes its own.
    ids="-".join,
)
def test_that_a_usual_header_is_what_pillow_reads(options):
    for pixels in (smooth_rgb(), GREY):
        if pixels is GREY and "icc_profile" in options:
            options = options | {"icc_profile": GREY_PROFILE}
        data = with_pillow(pixels, "JPEG", **options)
        same(plain_header(data), pillows(data))


def test_that_damaged_metadata_is_read_as_pillow_reads_it_or_left_to_it():
    data = with_pillow(
        smooth_rgb(), "JPEG", exif=exif(t274=6, dpi=240), xmp=XMP, icc_profile=RGB_PROFILE, comment=b"c" * 30
    )
    end = data.index(b"\xff\xda")
    generator = np.random.default_rng(12)
    read = 0
    for count in range(1500):
        changed = bytearray(data)
        # Every second file is changed within its EXIF data.
        past = data.index(b"http://ns.adobe") if count % 2 else end
        for at in generator.integers(2, past, generator.integers(1, 4)):
            changed[at] = generator.choice([0, 1, 255, generator.integers(256)])
        ours = plain_header(bytes(changed))
        if ours is None:
            continue
        read += 1
        try:
            theirs = pillows(bytes(changed))
        except (OSError, SyntaxError, ValueError, IndexError, struct.error):
            continue  # tables and sizes: the decoder refuses them
        same(ours, theirs)
    assert read > 250


def test_that_unusual_files_are_left_to_pillow():
    cmyk = with_pillow(Image.fromarray(smooth_rgb()).convert("CMYK"), "JPEG")
    frames = io.BytesIO()
    Image.fromarray(smooth_rgb()).save(frames, "MPO", save_all=True, append_images=[Image.fromarray(GREY)])
    twice = with_pillow(smooth_rgb(), "JPEG", exif=exif())
    at = twice.index(b"\xff\xe1")
    segment = twice[at : at + 2 + int.from_bytes(twice[at + 2 : at + 4], "big")]
    cut = with_pillow(smooth_rgb(), "JPEG")[:100]
    for data in (cmyk, frames.getvalue(), twice[:at] + segment + twice[at:], cut, b"\xff\xd8\xff\xd9", b""):
        assert plain_header(data) is None


def test_that_a_usual_photograph_opens_without_pillow(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(with_pillow(smooth_rgb(), "JPEG", exif=exif(t274=8, dpi=240), icc_profile=RGB_PROFILE))
    fresh_python(
        "-c",
        "import sys, engine\n"
        f"picture = engine.open_image({str(path)!r})\n"
        "assert picture.pixels.shape == (41, 37, 3), picture.pixels.shape\n"
        "assert 'PIL' not in sys.modules",
    )


def test_that_the_picture_is_the_same_with_either_header(tmp_path, monkeypatch):
    path = tmp_path / "a.jpg"
    path.write_bytes(with_pillow(smooth_rgb(), "JPEG", exif=exif(t274=5, dpi=240), icc_profile=RGB_PROFILE))
    ours = open_image(path)
    monkeypatch.setattr(jpeg, "plain_header", lambda data: None)
    theirs = open_image(path)
    assert np.array_equal(ours.pixels, theirs.pixels)
    assert (ours.icc_profile, ours.metadata, ours.notes) == (
        theirs.icc_profile,
        theirs.metadata,
        theirs.notes,
    )
    assert len(ours.metadata.names) == 2
