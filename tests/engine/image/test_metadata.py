"""EXIF data and resolution go from the opened file to the saved one, true of the saved picture."""

import struct
import zlib

import imagecodecs
import numpy as np
import pytest
from PIL import Image, ImageCms

from engine.image.formats.png import png_chunk
from engine.image.metadata import Metadata
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import save_image
from tests.engine.image.encoded import with_pillow, with_tifffile

CAMERA, PLACE, INTEROP = 0x8769, 0x8825, 0xA005
MAKER, ORIENTATION, TAKEN, WIDTH, HEIGHT, EXPOSURE, OF_MAKER = 271, 274, 0x9003, 0xA002, 0xA003, 0x829A, 37500
DATE = "2020:02:03 04:05:06"
HIGH = np.random.default_rng(3).integers(0, 256, (5, 9, 3), np.uint8)
KINDS = {"jpg": "JPEG", "png": "PNG", "tif": "TIFF", "webp": "WEBP"}


def exif():
    """Return what a camera writes that was held upright: the picture lies in the file on its side."""
    block = Image.Exif()
    block[MAKER], block[ORIENTATION], block[306] = "A camera", 6, DATE
    block[CAMERA] = {TAKEN: DATE, WIDTH: 9, HEIGHT: 5, EXPOSURE: (1, 125), OF_MAKER: b"of the maker"}
    block[PLACE] = {1: "N", 2: (1.0, 2.0, 3.0)}
    return block.tobytes()


def with_thumbnail(thumbnail):
    """Return EXIF data with a maker, and a second list of tags, which names a JPEG."""
    maker = b"A camera\0\0"
    second = 8 + 2 + 12 + 4 + len(maker)
    of_thumbnail = second + 2 + 2 * 12 + 4
    first = _entry(MAKER, 2, len(maker), 26) + second.to_bytes(4, "big") + maker + b"\0\2"
    further = _entry(513, 4, 1, of_thumbnail) + _entry(514, 4, 1, len(thumbnail)) + bytes(4)
    return b"Exif\0\0MM\0*\0\0\0\x08\0\1" + first + further + thumbnail


def _entry(tag, kind, count, value):
    return b"".join(one.to_bytes(size, "big") for one, size in ((tag, 2), (kind, 2), (count, 4), (value, 4)))


@pytest.fixture(params=KINDS)
def photo(request, tmp_path):
    """Return a picture that was opened from a file of each kind with all that a camera writes."""
    path = tmp_path / f"in.{request.param}"
    how = {"lossless": True} if request.param == "webp" else {"dpi": (300, 200)}
    path.write_bytes(with_pillow(HIGH, KINDS[request.param], exif=exif(), **how))
    return open_image(path)


def test_that_what_the_camera_says_is_saved_and_true_of_the_saved_picture(photo, tmp_path):
    for suffix in KINDS:
        assert save_image(photo, tmp_path / f"out.{suffix}") == ()
        with Image.open(tmp_path / f"out.{suffix}") as saved:
            found = saved.getexif()
            camera, place = found.get_ifd(CAMERA), found.get_ifd(PLACE)
        assert (found[MAKER], found[306], found.get(ORIENTATION, 1)) == ("A camera", DATE, 1)
        assert (camera[TAKEN], camera[EXPOSURE], camera[OF_MAKER]) == (DATE, (1, 125), b"of the maker")
        assert (camera[WIDTH], camera[HEIGHT]) == (5, 9) == saved.size
        assert place == {1: "N", 2: (1.0, 2.0, 3.0)}


def test_that_the_resolution_is_saved(photo, tmp_path):
    for suffix in ["jpg", "png", "tif"]:
        save_image(photo, tmp_path / f"out.{suffix}")
        with Image.open(tmp_path / f"out.{suffix}") as saved:
            # A PNG counts whole pixels per metre.
            found = saved.info.get("dpi")
        assert photo.metadata.dpi is None or found == pytest.approx((300, 200), abs=0.0254)
    save_image(Picture(HIGH, metadata=Metadata(dpi=(300.0, 200.0))), tmp_path / "out.webp")
    with Image.open(tmp_path / "out.webp") as saved:
        found = saved.getexif()
    assert (found[282], found[283], found[296]) == (300, 200, 2)


def test_that_a_deep_tiff_keeps_it_too(photo, tmp_path):
    for dtype in [np.uint16, np.float32]:
        save_image(Picture(photo.pixels.astype(dtype), metadata=photo.metadata), tmp_path / "out.tif")
        again = open_image(tmp_path / "out.tif")
        block = Image.Exif()
        block.load(again.metadata.exif)
        assert np.array_equal(again.pixels, photo.pixels)
        assert (block[MAKER], block.get_ifd(CAMERA)[TAKEN]) == ("A camera", DATE)


def test_that_the_thumbnail_of_the_old_picture_is_not_saved(tmp_path):
    thumbnail = with_pillow(HIGH, "JPEG")
    (tmp_path / "in.jpg").write_bytes(with_pillow(HIGH, "JPEG", exif=with_thumbnail(thumbnail)))
    picture = open_image(tmp_path / "in.jpg")
    assert thumbnail in picture.metadata.exif
    assert save_image(picture, tmp_path / "out.jpg") == ()
    assert b"A camera" in open_image(tmp_path / "out.jpg").metadata.exif
    assert thumbnail not in (tmp_path / "out.jpg").read_bytes()


def test_that_nothing_of_it_is_saved_where_that_is_asked(photo, tmp_path):
    for suffix in KINDS:
        save_image(photo, tmp_path / f"out.{suffix}", metadata=False)
        save_image(Picture(photo.pixels, photo.alpha), tmp_path / f"plain.{suffix}")
        assert (tmp_path / f"out.{suffix}").read_bytes() == (tmp_path / f"plain.{suffix}").read_bytes()


def test_that_damaged_exif_data_is_a_note(tmp_path):
    for suffix in KINDS:
        block = exif().removeprefix(b"Exif\0\0")
        for cut in (3, 20, len(block) // 2):
            (note,) = save_image(Picture(HIGH, metadata=Metadata(block[:cut])), tmp_path / f"out.{suffix}")
            assert note.startswith("The EXIF data of the opened file is damaged: ")


@pytest.mark.slow
def test_that_no_exif_data_keeps_a_picture_from_being_saved(tmp_path):
    for suffix in KINDS:
        random, block = np.random.default_rng(4), exif().removeprefix(b"Exif\0\0")
        for _ in range(20):
            mutated = bytearray(block)
            for at in random.integers(0, len(block), 3):
                mutated[at] = random.integers(256)
            save_image(Picture(HIGH, metadata=Metadata(bytes(mutated))), tmp_path / f"out.{suffix}")
            assert open_image(tmp_path / f"out.{suffix}").pixels.shape == HIGH.shape


def test_that_exif_data_beyond_what_a_jpeg_holds_is_named(tmp_path):
    block = Image.Exif()
    block[MAKER] = "m" * 70_000
    picture = Picture(HIGH, metadata=Metadata(block.tobytes()[6:], (300.0, 300.0)))
    (note,) = save_image(picture, tmp_path / "out.jpg")
    assert note.startswith("The EXIF data of the opened file is not saved: it takes 68.4 KiB, a JPEG holds")
    assert open_image(tmp_path / "out.jpg").metadata.dpi == (300, 300)


XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"/>'
DEFLATED = zlib.compress(b"b")
IPTC = b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0\0\0\0\x0c\x1c\x02\x78\0\x07caption"


def png_with(*chunks):
    """Return a PNG with chunks (kind, content) before its pixels."""
    data = with_pillow(HIGH, "PNG")
    return data[:33] + b"".join(png_chunk(*one) for one in chunks) + data[33:]


def jpeg_with(*segments):
    """Return a JPEG that begins with segments (marker, content)."""
    data = with_pillow(HIGH, "JPEG")
    made = b"".join(
        b"\xff" + bytes([one]) + struct.pack(">H", len(text) + 2) + text for one, text in segments
    )
    return data[:2] + made + data[2:]


def tiff_with(*tags, **options):
    """Return a TIFF with tags (number, type, count, value)."""
    return with_tifffile(HIGH, photometric="rgb", extratags=[(*tag, True) for tag in tags], **options)


def jpegxl_with_xmp(compressed):
    content = b"xml " * compressed + XMP
    kind = b"brob" if compressed else b"xml "
    data = bytes(imagecodecs.jpegxl_encode(HIGH, lossless=True, usecontainer=True))
    return data + struct.pack(">I4s", 8 + len(content), kind) + content


OF_GEO = "ModelPixelScaleTag (33550), GeoKeyDirectoryTag (34735)"
GEO = [(33550, 12, 3, (0.5, 0.5, 0.0)), (34735, 3, 4, (1, 1, 0, 0))]


def test_that_what_is_never_saved_is_named(opened, tmp_path):
    for data, names in [
        (jpeg_with((0xE1, b"http://ns.adobe.com/xap/1.0/\0" + XMP)), "XMP"),
        (jpeg_with((0xED, IPTC), (0xFE, b"a"), (0xFE, b"b")), "IPTC data, comment"),
        (png_with((b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP)), "texts (XML:com.adobe.xmp)"),
        (png_with((b"tEXt", b"Title\0a"), (b"zTXt", b"Author\0\0" + DEFLATED)), "texts (Title, Author)"),
        (png_with(*((b"tEXt", b"%d\0a" % number) for number in range(9))), "texts (0, 1, 2, 3 and 5 more)"),
        # A name must not drive the terminal.
        (png_with((b"tEXt", b"\x1b[31mred\0a")), "texts ([31mred)"),
        (png_with((b"gAMA", bytes(4)), (b"sRGB", b"\0")), "gAMA, sRGB"),
        (png_with((b"cICP", bytes(4)), (b"cHRM", bytes(32))), "cICP, cHRM"),
        (png_with((b"sBIT", b"\5\6\5")), "sBIT"),
        (with_pillow(HIGH, "WEBP", xmp=XMP), "XMP"),
        (with_pillow(HIGH, "AVIF", xmp=XMP), "XMP"),
        (jpegxl_with_xmp(False), "XMP"),
        (jpegxl_with_xmp(True), "XMP"),
        (with_pillow(HIGH, "GIF", comment=b"a"), "comment"),
        (tiff_with(*GEO, (42113, 2, 0, "-9999")), f"{OF_GEO}, GDAL_NODATA (42113)"),
        (tiff_with((700, 7, len(XMP), XMP), (269, 2, 0, "a")), "DocumentName (269), XMP (700)"),
        (tiff_with((65001, 2, 0, "a"), description="about it"), "ImageDescription (270), 65001 (65001)"),
        (tiff_with(resolution=(3, 2), resolutionunit=1), "XResolution (282)"),
        # Nothing is lost.
        (tiff_with(resolution=(300, 300), resolutionunit=2, software="a program"), ""),
        (tiff_with(resolution=(1, 1), resolutionunit=1), ""),
        (png_with((b"tIME", bytes(7)), (b"tEXt", b"Software\0a")), ""),
    ]:
        picture = opened(data)
        assert picture.notes == () or picture.format in ("GIF", "JPEG XL")
        said = (f"Not saved of what the opened file says: {names}.",) if names else ()
        for suffix in ("png", "tif"):
            assert save_image(picture, tmp_path / f"out.{suffix}") == said
        assert save_image(picture, tmp_path / "out.pgm")[-1:] == said[-1:] or not names
        assert save_image(picture, tmp_path / "out.png", metadata=False) == ()


def test_that_a_profile_counts_for_more_than_gamma_and_primaries(opened, tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    picture = opened(with_pillow(HIGH, "PNG", icc_profile=profile))
    data = (save_image(picture, tmp_path / "a.png"), (tmp_path / "a.png").read_bytes())[1]
    with_gamma = data[:33] + png_chunk(b"gAMA", bytes(4)) + data[33:]
    assert save_image(opened(with_gamma), tmp_path / "out.png") == ()


def test_that_the_quality_of_a_jpeg_is_known_when_it_is_opened(tmp_path):
    for quality in [30, 75, 92, 100]:
        for mode in ["L", "RGB", "CMYK"]:
            Image.new(mode, (20, 10)).save(tmp_path / "a.jpg", quality=quality)
            assert open_image(tmp_path / "a.jpg").metadata.quality == quality
