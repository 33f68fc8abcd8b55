"""What a file says beside its pixels: the orientation is used, and what a save drops is told."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from engine.image.open import open_image
from engine.image.result_picture import finished_picture
from engine.image.save import save_image
from tests.engine.image.encoded import smooth_rgb, with_pillow, with_tifffile

RGB = smooth_rgb(9, 5)
UPRIGHT = np.rot90(RGB, -1)  # orientation 6: turned clockwise

XMP_ATTRIBUTE = '<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
XMP_ELEMENT = "<x:xmpmeta><tiff:Orientation>6</tiff:Orientation></x:xmpmeta>"


def exif(orientation=6):
    block = Image.Exif()
    block[274] = orientation
    return block.tobytes()


def raw_profile(content, name="exif"):
    digits = content.hex()
    lines = "\n".join(digits[begin : begin + 72] for begin in range(0, len(digits), 72))
    return f"\n{name}\n{len(content):8}\n{lines}\n"


def png_with_text(keyword, text, compressed=False, kind="tEXt"):
    info = PngImagePlugin.PngInfo()
    if kind == "iTXt":
        info.add_itxt(keyword, text, zip=compressed)
    else:
        info.add_text(keyword, text, zip=compressed)
    return with_pillow(RGB, "PNG", pnginfo=info)


FILES = {
    "png: eXIf": with_pillow(RGB, "PNG", exif=exif()),
    "png: XMP attribute": png_with_text("XML:com.adobe.xmp", XMP_ATTRIBUTE, kind="iTXt"),
    "png: XMP element, compressed": png_with_text("XML:com.adobe.xmp", XMP_ELEMENT, True, kind="iTXt"),
    "png: raw exif": png_with_text("Raw profile type exif", raw_profile(exif())),
    "png: raw APP1, compressed": png_with_text("Raw profile type APP1", raw_profile(exif(), "generic"), True),
    "png: raw XMP": png_with_text("Raw profile type xmp", raw_profile(XMP_ATTRIBUTE.encode(), "xmp")),
    "webp: EXIF": with_pillow(RGB, "WEBP", lossless=True, exif=exif()),
    "webp: XMP": with_pillow(RGB, "WEBP", lossless=True, xmp=XMP_ATTRIBUTE.encode()),
}


@pytest.fixture
def opened(tmp_path):
    def open_bytes(data):
        path = tmp_path / "picture"
        path.write_bytes(data)
        return open_image(path)

    return open_bytes


@pytest.mark.parametrize("kind", FILES)
def test_that_an_orientation_is_used_wherever_it_stands(opened, kind):
    assert np.array_equal(opened(FILES[kind]).pixels, UPRIGHT)


def test_that_exif_counts_before_xmp(opened):
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", XMP_ATTRIBUTE)
    assert np.array_equal(opened(with_pillow(RGB, "PNG", pnginfo=info, exif=exif(1))).pixels, RGB)


@pytest.mark.parametrize("text", ["", "\nexif\n  10\nzz", "\nexif\n 4\n00ff", "tiff:Orientation=9"])
def test_that_damaged_texts_leave_the_picture_as_it_is(opened, text):
    for keyword in ("Raw profile type exif", "XML:com.adobe.xmp", "Raw profile type xmp"):
        assert np.array_equal(opened(png_with_text(keyword, text)).pixels, RGB)


def test_that_a_text_that_inflates_without_end_is_read_no_further(opened):
    def chunk(kind, content):
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    data = with_pillow(RGB, "PNG")
    bomb = chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(bytes(10**8), 9))
    assert np.array_equal(opened(data[:33] + bomb + data[33:]).pixels, RGB)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            with_pillow(RGB, "JPEG", exif=exif(1), dpi=(300, 300)),
            "EXIF data and resolution (DPI) of the opened file are",
        ),
        (with_pillow(RGB, "PNG", exif=exif(1)), "EXIF data of the opened file"),
        (png_with_text("Raw profile type exif", raw_profile(exif(1))), "EXIF data of the opened file"),
        (with_pillow(RGB, "PNG", dpi=(300, 300)), "Resolution (DPI) of the opened file is"),
        (with_pillow(RGB, "WEBP", exif=exif(1)), "EXIF data of the opened file"),
        (
            with_tifffile(RGB, photometric="rgb", resolution=(300, 300), resolutionunit="inch"),
            "Resolution (DPI)",
        ),
    ],
    ids=["jpeg", "png", "png raw", "png dpi", "webp", "tiff"],
)
def test_that_a_save_tells_of_exif_and_resolution_that_it_drops(tmp_path, opened, data, words):
    picture = opened(data)
    finished = finished_picture(picture, picture.pixels.astype(np.float32), np.dtype(np.uint8), "clip")
    for saved in (picture, finished):
        (note,) = save_image(saved, tmp_path / "out.png")
        assert note.startswith(words)


def test_that_a_file_without_either_is_saved_without_a_note(tmp_path, opened):
    for data in (
        with_pillow(RGB, "JPEG"),
        with_pillow(RGB, "PNG", dpi=(72, 72)),
        with_pillow(RGB, "PNG"),
        with_tifffile(RGB, photometric="rgb"),
    ):
        assert save_image(opened(data), tmp_path / "out.png") == ()
