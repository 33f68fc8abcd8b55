"""Saving pictures, what their decoders leave to us, and what files say beside their pixels."""

import io
import itertools
import os
import re

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms, PngImagePlugin

from engine.errors import ImageWriteError
from engine.image.format import Canvas, Form, Scratch
from engine.image.formats import saved_formats
from engine.image.formats.png import encode_png
from engine.image.open import open_image, open_sample
from engine.image.picture import Picture
from engine.image.save import encoded_image, save_image
from tests.engine.image import png_witness
from tests.engine.image.encoded import smooth_rgb, with_pillow

RGB_PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
GREY_PROFILE = RGB_PROFILE[:16] + b"GRAY" + RGB_PROFILE[20:]


def picture_of(dtype, channels, *, has_alpha=False, columns=41):
    """Every value of the type may occur; the float ones lie outside of 0 to 1 and of 0 to 255 too."""
    generator = np.random.default_rng(11)
    samples = generator.normal(0, 1000, (7, columns, channels + 1))
    if dtype != np.float32:
        samples = generator.integers(0, np.iinfo(dtype).max + 1, samples.shape)
    samples = samples.astype(dtype)
    pixels = samples[..., 0] if channels == 1 else samples[..., :channels]
    return Picture(pixels, samples[..., -1] if has_alpha else None)


def test_that_a_row_or_a_column_cut_from_a_picture_is_saved_as_its_copy_is():
    for extension in ["png", "jpg", "tif", "webp"]:
        whole = smooth_rgb()
        for cut in (whole[:1, :9], whole[:9, :1], whole[:1, :1, 0], np.asfortranarray(whole[:9, :1, 0])):
            own = encoded_image(np.array(cut), f"a.{extension}")
            assert encoded_image(cut, f"a.{extension}") == own


EVERY = [(dtype, channels) for dtype in (np.uint8, np.uint16, np.float32) for channels in (1, 3)]


@pytest.mark.slow
def test_that_an_exact_format_gives_back_what_was_saved(tmp_path):
    for suffix, dtype, channels in [
        *((".png", dtype, channels) for dtype, channels in EVERY[:4]),
        *((".tif", dtype, channels) for dtype, channels in EVERY),
        *((suffix, dtype, channels) for suffix in (".jxl", ".npy") for dtype, channels in EVERY),
        *((".pam", dtype, channels) for dtype, channels in EVERY[:4]),
        (".tiff", np.uint8, 3),
        (".webp", np.uint8, 3),
    ]:
        for has_alpha in [False, True]:
            path = tmp_path / f"a{suffix}"
            for columns in (1, 2, 5, 17):
                picture = picture_of(dtype, channels, has_alpha=has_alpha, columns=columns)
                assert save_image(picture, path, quality=100) == ()
                saved = open_image(path)
                assert (saved.dtype, saved.alpha is None) == (dtype, not has_alpha)
                assert saved.notes == () or suffix == ".jxl"
                assert np.array_equal(saved.pixels, picture.pixels), columns
                assert not has_alpha or np.array_equal(saved.alpha, picture.alpha), columns
                if dtype == np.uint16 and suffix in (".png", ".tif"):
                    # Other programs find all 16 bits.
                    is_png = suffix == ".png"
                    found = png_witness.decode(path.read_bytes()) if is_png else tifffile.imread(path)
                    whole = np.dstack([picture.pixels, picture.alpha]) if has_alpha else picture.pixels
                    assert np.array_equal(found.reshape(whole.shape), whole), columns


def test_that_the_quality_of_a_lossy_format_changes_its_size(tmp_path):
    for suffix in (".jpg", ".jpeg", ".webp", ".avif", ".jxl"):
        path, sizes = tmp_path / f"a{suffix}", []
        for quality in (1, 50, 95):
            assert save_image(smooth_rgb(), path, quality=quality) == ()
            sizes.append(path.stat().st_size)
        assert sizes == sorted(set(sizes)), suffix
        assert np.abs(open_image(path).pixels.astype(int) - smooth_rgb()).mean() < 2, suffix


def test_that_the_colour_profile_is_kept(tmp_path):
    for extension in ["png", "jpg", "tif", "webp"]:
        path = tmp_path / f"a.{extension}"
        assert save_image(Picture(smooth_rgb(), icc_profile=RGB_PROFILE), path) == ()
        assert open_image(path).icc_profile == RGB_PROFILE
        with Image.open(path) as image:
            assert image.info["icc_profile"] == RGB_PROFILE
        if extension != "webp":
            save_image(Picture(smooth_rgb()[..., 0], icc_profile=GREY_PROFILE), path)
            assert open_image(path).icc_profile == GREY_PROFILE


def test_that_a_png_is_about_as_large_as_with_every_filter_tried():
    """A wrong filter makes files of photographs half as large again, runs alone those of patterns tenfold."""
    for key, most in (("astronaut", 1.1), ("camera", 1.1), ("checkerboard", 3.0)):
        picture = open_sample(key)
        thorough = imagecodecs.png_encode(picture.pixels, level=9)
        assert len(encode_png(picture, 95)) < most * len(thorough), key


def test_that_the_rows_of_a_png_are_differences_whatever_the_bands(monkeypatch):
    generator = np.random.default_rng(2)
    for dtype, channels, has_alpha in itertools.product((np.uint8, np.uint16), (1, 3), (False, True)):
        samples = generator.integers(0, np.iinfo(dtype).max + 1, (11, 7, channels), dtype)
        pixels = samples[..., 0] if channels == 1 else samples
        alpha = samples[..., 0].copy() if has_alpha else None
        whole = np.dstack([pixels, alpha]) if has_alpha else pixels
        for band_bytes in (1, 300, 10**6):
            monkeypatch.setattr("engine.image.convert._BAND_BYTES", band_bytes)
            found = png_witness.decode(encode_png(Picture(pixels, alpha), 95))
            assert np.array_equal(found.reshape(whole.shape), whole), (channels, has_alpha)


@pytest.mark.parametrize("has_alpha", [False, True])
def test_that_rows_of_a_png_that_are_done_are_not_read_again(monkeypatch, has_alpha):
    """Their memory is given back meanwhile: what lies there becomes zeros."""
    monkeypatch.setattr("engine.image.convert._BAND_BYTES", 100)
    pixels = np.random.default_rng(3).integers(0, 256, (23, 11, 3), np.uint8)
    alpha = pixels[..., 1].copy() if has_alpha else None
    whole = bytes(encode_png(Picture(pixels.copy(), alpha), 95))
    spent = Scratch(pixels.shape, np.uint8).array
    spent[...] = pixels

    def wipe(rows):
        rows[...] = 0

    assert bytes(encode_png(Picture(spent, alpha), 95, wipe)) == whole
    assert not spent.any()


def test_that_what_a_format_cannot_keep_is_left_out_with_a_sentence(tmp_path):
    grey = Picture(np.zeros((4, 4), np.uint8), np.zeros((4, 4), np.uint8), RGB_PROFILE)
    left_out = save_image(grey, tmp_path / "a.jpg")
    assert ["alpha" in left_out[0], "profile" in left_out[1], len(left_out)] == [True, True, 2]
    assert open_image(tmp_path / "a.jpg").icc_profile is None
    assert "grey" in save_image(Picture(grey.pixels), tmp_path / "a.webp")[0]
    assert open_image(tmp_path / "a.webp").channels == 3


def test_that_a_depth_that_the_format_has_not_is_refused_with_what_would_do(tmp_path):
    wrong = {"a.png": np.float32, "b.jpg": np.float32, "c.jpg": np.uint16, "d.webp": np.uint16}
    for name, dtype in wrong.items():
        with pytest.raises(ImageWriteError) as caught:
            save_image(picture_of(dtype, 3), tmp_path / name)
        assert "TIFF" in caught.value.remedy
        assert not (tmp_path / name).exists()
        save_image(picture_of(dtype, 3), tmp_path / name, depth="8")
        assert open_image(tmp_path / name).dtype == np.uint8


def test_that_values_are_rounded_only_when_asked(tmp_path):
    floats, whole = np.array([[-1.0, 0.5, 0.6, 300.0, np.nan]], np.float32), np.full((1, 5), 7, np.uint8)
    for image, depth, wanted, opaque in [
        # 1 is white, as it is shown; 0.5 is half way between two, of which the even one is taken.
        (floats, "8", [[0, 128, 153, 255, 0]], 255),
        (floats, "16", [[0, 32768, 39321, 65535, 0]], 65535),
        (whole, "float32", [[7.0] * 5], 1),
    ]:
        path = tmp_path / ("a.tif" if depth == "float32" else "a.png")
        save_image(Picture(image, np.full_like(image, 255 if image is whole else 1)), path, depth=depth)
        saved = open_image(path)
        assert saved.pixels.tolist() == wanted
        assert (saved.alpha == opaque).all()


SUFFIXES = ", ".join(suffix for known in saved_formats() for suffix in known.saved_suffixes)


def test_that_an_unknown_extension_or_option_is_refused_with_what_would_do(tmp_path):
    for name, options, words in [
        *((name, {}, f"End the name in one of: {SUFFIXES}.") for name in ("a.gif", "a", "a.png.bak")),
        *(("a.jpg", {"quality": quality}, "a whole number from 1 to 100") for quality in (0, 101, "x", 9.5)),
        ("a.jpg", {"depth": "12"}, "there is no depth '12'. Choose one of: keep, 8, 16, float32."),
    ]:
        with pytest.raises(ImageWriteError, match=re.escape(words)):
            save_image(smooth_rgb(), tmp_path / name, **options)
        assert os.listdir(tmp_path) == []


def test_that_a_side_that_the_format_cannot_hold_is_refused(tmp_path):
    for name, limit in [("a.jpg", 65_500), ("a.webp", 16_383)]:
        with pytest.raises(ImageWriteError, match=f"{limit:,} pixels"):
            save_image(np.zeros((1, limit + 1), np.uint8), tmp_path / name)
        save_image(np.zeros((1, limit), np.uint8), tmp_path / name)
        assert open_image(tmp_path / name).width == limit


RGB = smooth_rgb()
GREY = np.ascontiguousarray(RGB[..., 0])


def test_that_rows_of_any_width_stay_straight(opened):
    for kind, columns in itertools.product(["BMP", "PNG", "TIFF"], (1, 2, 3, 4, 5, 7, 8)):
        image = np.arange(5 * columns * 3, dtype=np.uint8).reshape(5, columns, 3)
        bits = image[..., 1] % 3 == 0
        for stored, wanted in [(image, image), (image[..., 1], image[..., 1]), (bits, bits * np.uint8(255))]:
            assert np.array_equal(opened(with_pillow(stored, kind)).pixels, wanted), (kind, columns)


def test_that_a_jpeg_has_the_pixels_that_pillow_finds(opened):
    for how in [
        {}, {"subsampling": "4:4:4"}, {"subsampling": "4:2:2"}, {"progressive": True}, {"keep_rgb": True},
        {"optimize": True, "quality": 7}, {"restart_marker_blocks": 3},
    ]:  # fmt: skip
        for mode in ["L", "RGB"]:
            data = with_pillow(Image.fromarray(smooth_rgb()).convert(mode), "JPEG", **how)
            assert np.array_equal(opened(data).pixels, np.asarray(Image.open(io.BytesIO(data))))


def test_that_grey_and_cmyk_jpegs_and_those_with_restarts_and_trailing_bytes_open(opened):
    assert opened(with_pillow(GREY, "JPEG")).channels == 1
    cmyk = Image.fromarray(np.full((8, 8, 3), (200, 100, 50), np.uint8)).convert("CMYK")
    picture = opened(with_pillow(cmyk, "JPEG", quality=100))
    assert np.abs(picture.pixels.astype(int) - (200, 100, 50)).max() <= 3
    assert "CMYK" in picture.notes[0]
    data = with_pillow(RGB, "JPEG", restart_marker_rows=1)
    assert data.count(b"\xff\xd0") == 1
    expected = opened(data).pixels
    assert np.array_equal(opened(data + b"\xff\xd8trailing" * 9).pixels, expected)


def test_that_a_cmyk_jpeg_whose_black_is_as_coarse_as_its_colours_opens(opened, refused):
    """`simplejpeg` does not read it, nor say whether its data is whole."""
    noise = np.random.default_rng(5).integers(0, 256, (64, 64, 4), dtype=np.uint8)
    for subsampling in ("4:2:2", "4:2:0"):
        data = with_pillow(Image.fromarray(noise, "CMYK"), "JPEG", subsampling=subsampling)
        picture, expected = opened(data), Image.open(io.BytesIO(data)).convert("RGB")
        assert np.array_equal(picture.pixels, np.asarray(expected))
        assert picture.notes == ("It was converted from CMYK to RGB without its colour profile.",)
        for part in (0.5, 0.9):
            assert "stops before its last row" in refused(data[: int(part * len(data))] + b"\xff\xd9").why


def test_that_a_jpeg_cut_short_but_closed_by_an_end_marker_is_refused(opened, refused):
    noise = np.random.default_rng(5).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    for part, progressive in itertools.product([0.5, 0.8, 0.95], [False, True]):
        data = with_pillow(noise, "JPEG", progressive=progressive)
        assert opened(data).notes == ()
        why = refused(data[: int(part * len(data))] + b"\xff\xd9").why
        assert re.search("stops before its last row|damaged", why)


def test_that_palettes_are_read(opened):
    image = Image.fromarray((GREY > 100).astype(np.uint8), mode=None).convert("P")
    picture = opened(with_pillow(image, "GIF", transparency=1))
    assert np.array_equal(picture.alpha, np.where(GREY > 100, 0, 255))
    image = Image.fromarray(RGB).quantize(16)
    assert np.array_equal(opened(with_pillow(image, "BMP")).pixels, np.asarray(image.convert("RGB")))


SMALL = smooth_rgb(9, 5)
TURNED = np.rot90(SMALL, -1)  # upright for orientation 6: turned clockwise

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
    return with_pillow(SMALL, "PNG", pnginfo=info)


TURNED_FILES = {
    "png: eXIf": with_pillow(SMALL, "PNG", exif=exif()),
    "png: XMP attribute": png_with_text("XML:com.adobe.xmp", XMP_ATTRIBUTE, kind="iTXt"),
    "png: XMP element, compressed": png_with_text("XML:com.adobe.xmp", XMP_ELEMENT, True, kind="iTXt"),
    "png: raw exif": png_with_text("Raw profile type exif", raw_profile(exif())),
    "webp: EXIF": with_pillow(SMALL, "WEBP", lossless=True, exif=exif()),
    "webp: XMP": with_pillow(SMALL, "WEBP", lossless=True, xmp=XMP_ATTRIBUTE.encode()),
    "jpeg: XMP": with_pillow(SMALL, "JPEG", quality=100, xmp=XMP_ATTRIBUTE.encode()),
}


def test_that_an_orientation_is_used_wherever_it_stands_and_that_of_exif_before_that_of_xmp(opened):
    for kind, data in TURNED_FILES.items():
        most = 9 if kind.startswith("jpeg") else 0
        assert np.abs(opened(data).pixels.astype(int) - TURNED).max() <= most, kind
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", XMP_ATTRIBUTE)
    assert np.array_equal(opened(with_pillow(SMALL, "PNG", pnginfo=info, exif=exif(1))).pixels, SMALL)


def test_that_a_picture_of_every_orientation_stands_upright(opened):
    options = {"png": {}, "tiff": {}, "webp": {"lossless": True}, "jpeg": {"quality": 100}}
    for kind, (orientation, stored) in itertools.product(options, STORED.items()):
        # Blocks of 16 pixels: JPEG is then nearly exact.
        image = np.kron(np.array(stored, np.uint8), np.ones((16, 16), np.uint8))
        pixels = opened(with_pillow(image, kind, exif=exif(orientation), **options[kind])).pixels
        pixels = pixels[..., 0] if pixels.ndim == 3 else pixels
        assert pixels.shape == (32, 48), orientation
        assert np.abs(pixels[8::16, 8::16].astype(int) - UPRIGHT).max() <= (kind == "jpeg"), orientation


def test_that_alpha_is_turned_with_the_colours(opened, monkeypatch):
    monkeypatch.setattr("engine.image.convert._BAND_BYTES", 16)
    image = np.arange(5 * 3 * 4, dtype=np.uint8).reshape(5, 3, 4)
    image[::2, 1, 3] = 0  # a clear pixel keeps its colours
    picture = opened(with_pillow(image, "PNG", exif=exif(6)))
    assert np.array_equal(np.dstack((picture.pixels, picture.alpha)), np.rot90(image, -1))


def test_that_a_wrong_orientation_counts_for_nothing(opened):
    for orientation in (0, 9, -1, 274):
        canvas = Canvas(Form(2, 3, 1, False, np.dtype(np.uint8)), orientation)
        canvas.put_samples(slice(0, 2), UPRIGHT)
        assert np.array_equal(canvas.pixels, UPRIGHT), orientation


def test_that_damaged_metadata_leaves_the_picture_as_it_is(opened):
    texts = "", "\nexif\n  10\nzz", "\nexif\n 4\n00ff", "tiff:Orientation=9"
    keywords = "Raw profile type exif", "XML:com.adobe.xmp", "Raw profile type xmp"
    for text, keyword in itertools.product(texts, keywords):
        assert np.array_equal(opened(png_with_text(keyword, text)).pixels, SMALL)
    damaged = with_pillow(SMALL, "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
    assert opened(damaged).pixels.shape == SMALL.shape
