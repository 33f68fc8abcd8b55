"""What a file says beside its pixels: the orientation is used, what a save drops is named."""

import zlib

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from engine.image.canvas import Canvas
from engine.image.form import Form
from engine.image.png import png_chunk
from engine.image.result_picture import finished_picture
from engine.image.save import save_image
from tests.engine.image.encoded import smooth_rgb, with_pillow, with_tifffile

RGB = smooth_rgb(9, 5)
TURNED = np.rot90(RGB, -1)  # upright for orientation 6: turned clockwise

XMP_ATTRIBUTE = '<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
XMP_ELEMENT = "<x:xmpmeta><tiff:Orientation>6</tiff:Orientation></x:xmpmeta>"

# The upright picture, and how each orientation stores it (row by row), from the figures of the EXIF standard.
UPRIGHT = np.array([[10, 20, 30], [40, 50, 60]], np.uint8)
STORED = {
    1: [[10, 20, 30], [40, 50, 60]], 5: [[10, 40], [20, 50], [30, 60]],
    2: [[30, 20, 10], [60, 50, 40]], 6: [[30, 60], [20, 50], [10, 40]],
    3: [[60, 50, 40], [30, 20, 10]], 7: [[60, 30], [50, 20], [40, 10]],
    4: [[40, 50, 60], [10, 20, 30]], 8: [[40, 10], [50, 20], [60, 30]],
}  # fmt: skip


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
    (info.add_itxt if kind == "iTXt" else info.add_text)(keyword, text, zip=compressed)
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
    "jpeg: XMP": with_pillow(RGB, "JPEG", quality=100, xmp=XMP_ATTRIBUTE.encode()),
}


@pytest.mark.parametrize("kind", FILES)
def test_that_an_orientation_is_used_wherever_it_stands(opened, kind):
    assert np.abs(opened(FILES[kind]).pixels.astype(int) - TURNED).max() <= 9 * kind.startswith("jpeg")


@pytest.mark.parametrize("kind", ["png", "png in bands", "tiff", "webp", "jpeg"])
def test_that_a_picture_of_every_orientation_stands_upright(opened, monkeypatch, kind):
    if kind == "png in bands":
        kind = "png"
        monkeypatch.setattr("engine.image.png._HELD_BYTES", 0)
        monkeypatch.setattr("engine.image.scratch._BAND_BYTES", 200)
    for orientation, stored in STORED.items():
        # Blocks of 16 pixels: JPEG is then nearly exact.
        image = np.kron(np.array(stored, np.uint8), np.ones((16, 16), np.uint8))
        if kind == "tiff":
            tag = (274, 3, 1, orientation, True)
            data = with_tifffile(image, photometric="minisblack", extratags=[tag])
        else:
            options = {"webp": {"lossless": True}, "jpeg": {"quality": 100}}.get(kind, {})
            data = with_pillow(image, kind, exif=exif(orientation), **options)
        pixels = opened(data).pixels
        pixels = pixels[..., 0] if pixels.ndim == 3 else pixels
        assert pixels.shape == (32, 48), orientation
        assert np.abs(pixels[8::16, 8::16].astype(int) - UPRIGHT).max() <= (kind == "jpeg"), orientation


@pytest.mark.parametrize("held_bytes", [1 << 30, 0], ids=["whole", "in bands"])
def test_that_alpha_is_turned_with_the_colours(opened, monkeypatch, held_bytes):
    monkeypatch.setattr("engine.image.png._HELD_BYTES", held_bytes)
    monkeypatch.setattr("engine.image.scratch._BAND_BYTES", 16)
    image = np.arange(5 * 3 * 4, dtype=np.uint8).reshape(5, 3, 4)
    image[::2, 1, 3] = 0  # a clear pixel keeps its colours
    picture = opened(with_pillow(image, "PNG", exif=exif(6)))
    assert np.array_equal(np.dstack((picture.pixels, picture.alpha)), np.rot90(image, -1))


def test_that_exif_counts_before_xmp_and_an_orientation_that_does_not_exist_for_nothing(opened):
    for orientation in (0, 9, -1, 274):
        canvas = Canvas(Form(2, 3, 1, False, np.dtype(np.uint8)), orientation)
        canvas.put(slice(0, 2), UPRIGHT)
        assert np.array_equal(canvas.pixels, UPRIGHT), orientation
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", XMP_ATTRIBUTE)
    assert np.array_equal(opened(with_pillow(RGB, "PNG", pnginfo=info, exif=exif(1))).pixels, RGB)


@pytest.mark.parametrize("text", ["", "\nexif\n  10\nzz", "\nexif\n 4\n00ff", "tiff:Orientation=9"])
def test_that_damaged_metadata_leaves_the_picture_as_it_is(opened, text):
    for keyword in ("Raw profile type exif", "XML:com.adobe.xmp", "Raw profile type xmp"):
        assert np.array_equal(opened(png_with_text(keyword, text)).pixels, RGB)
    damaged = with_pillow(RGB, "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
    assert opened(damaged).pixels.shape == RGB.shape


def test_that_a_text_that_inflates_without_end_is_read_no_further(opened):
    data = with_pillow(RGB, "PNG")
    bomb = png_chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(bytes(3 * 10**7), 1))
    assert np.array_equal(opened(data[:33] + bomb + data[33:]).pixels, RGB)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_pillow(RGB, "JPEG", exif=exif(1), dpi=(300, 300)), "EXIF data and resolution (DPI) of the"),
        (with_pillow(RGB, "PNG", exif=exif(1)), "EXIF data of the opened file"),
        (png_with_text("Raw profile type exif", raw_profile(exif(1))), "EXIF data of the opened file"),
        (with_pillow(RGB, "PNG", dpi=(300, 300)), "Resolution (DPI) of the opened file is"),
        (with_pillow(RGB, "WEBP", exif=exif(1)), "EXIF data of the opened file"),
        (with_tifffile(RGB, photometric="rgb", resolution=(300, 300), resolutionunit="inch"), "Resolution"),
        (with_pillow(RGB, "JPEG"), None),
        (with_pillow(RGB, "PNG", dpi=(72, 72)), None),
        (with_pillow(RGB, "PNG"), None),
        (with_tifffile(RGB, photometric="rgb"), None),
    ],
)
def test_that_a_save_names_the_metadata_that_it_drops(tmp_path, opened, data, words):
    picture = opened(data)
    finished = finished_picture(picture, picture.pixels.astype(np.float32), np.dtype(np.uint8), "clip")
    for saved in (picture, finished):
        notes = save_image(saved, tmp_path / "out.png")
        assert len(notes) == (words is not None)
        assert "".join(notes).startswith(words or "")
