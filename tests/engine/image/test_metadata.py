"""EXIF data and resolution go from the opened file to the saved one, true of the saved picture."""

import numpy as np
import pytest
from PIL import Image

from engine.image.metadata import Metadata
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import save_image
from tests.engine.image.encoded import with_pillow

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
    entries = (
        _entry(MAKER, 2, len(maker), 26),
        second.to_bytes(4, "big"),
        maker,
        b"\0\2",
        _entry(513, 4, 1, of_thumbnail),
        _entry(514, 4, 1, len(thumbnail)),
    )
    return b"Exif\0\0MM\0*\0\0\0\x08\0\1" + b"".join(entries) + bytes(4) + thumbnail


def _entry(tag, kind, count, value):
    return b"".join(one.to_bytes(size, "big") for one, size in ((tag, 2), (kind, 2), (count, 4), (value, 4)))


@pytest.fixture(params=KINDS)
def photo(request, tmp_path):
    """Return a picture that was opened from a file of each kind with all that a camera writes."""
    path = tmp_path / f"in.{request.param}"
    how = {"lossless": True} if request.param == "webp" else {"dpi": (300, 200)}
    path.write_bytes(with_pillow(HIGH, KINDS[request.param], exif=exif(), **how))
    return open_image(path)


@pytest.mark.parametrize("suffix", KINDS)
def test_that_what_the_camera_says_is_saved_and_true_of_the_saved_picture(photo, tmp_path, suffix):
    assert save_image(photo, tmp_path / f"out.{suffix}") == ()
    with Image.open(tmp_path / f"out.{suffix}") as saved:
        found = saved.getexif()
        camera, place = found.get_ifd(CAMERA), found.get_ifd(PLACE)
    assert (found[MAKER], found[306], found.get(ORIENTATION, 1)) == ("A camera", DATE, 1)
    assert (camera[TAKEN], camera[EXPOSURE], camera[OF_MAKER]) == (DATE, (1, 125), b"of the maker")
    assert (camera[WIDTH], camera[HEIGHT]) == (5, 9) == saved.size
    assert place == {1: "N", 2: (1.0, 2.0, 3.0)}


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif"])
def test_that_the_resolution_is_saved(photo, tmp_path, suffix):
    save_image(photo, tmp_path / f"out.{suffix}")
    with Image.open(tmp_path / f"out.{suffix}") as saved:
        # A PNG counts whole pixels per metre.
        found = saved.info.get("dpi")
    assert photo.metadata.dpi is None or found == pytest.approx((300, 200), abs=0.0254)


def test_that_the_resolution_goes_through_a_webp(tmp_path):
    save_image(Picture(HIGH, metadata=Metadata(dpi=(300.0, 200.0))), tmp_path / "out.webp")
    with Image.open(tmp_path / "out.webp") as saved:
        found = saved.getexif()
    assert (found[282], found[283], found[296]) == (300, 200, 2)


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_that_a_deep_tiff_keeps_it_too(photo, tmp_path, dtype):
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


@pytest.mark.parametrize("suffix", KINDS)
def test_that_nothing_of_it_is_saved_where_that_is_asked(photo, tmp_path, suffix):
    save_image(photo, tmp_path / f"out.{suffix}", metadata=False)
    save_image(Picture(photo.pixels, photo.alpha), tmp_path / f"plain.{suffix}")
    assert (tmp_path / f"out.{suffix}").read_bytes() == (tmp_path / f"plain.{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", KINDS)
def test_that_damaged_exif_data_is_a_note(tmp_path, suffix):
    block = exif().removeprefix(b"Exif\0\0")
    for cut in (3, 20, len(block) // 2):
        (note,) = save_image(Picture(HIGH, metadata=Metadata(block[:cut])), tmp_path / f"out.{suffix}")
        assert note.startswith("The EXIF data of the opened file is damaged: ")


@pytest.mark.parametrize("suffix", KINDS)
def test_that_no_exif_data_keeps_a_picture_from_being_saved(tmp_path, suffix):
    random, block = np.random.default_rng(4), exif().removeprefix(b"Exif\0\0")
    for _ in range(40):
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
