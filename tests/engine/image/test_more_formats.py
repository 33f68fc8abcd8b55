"""JPEG XL, AVIF, PNM and NumPy's arrays: opened and saved as they are, and refused in words."""

import io
import itertools
import zipfile
import zlib

import imagecodecs
import numpy as np
import pytest
from PIL import Image

from engine.image.metadata import Metadata
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import save_image
from tests.engine.image.encoded import npy, with_pillow
from tests.engine.image.test_save import RGB_PROFILE
from tests.pairwise import pairwise

RANDOM = np.random.default_rng(5)


def samples(channels, dtype):
    """Return noise of an odd size."""
    shape = (7, 9) if channels == 1 else (7, 9, channels)
    if dtype is np.float32:
        return RANDOM.normal(100, 90, shape).astype(np.float32)
    return RANDOM.integers(0, np.iinfo(dtype).max + 1, shape, dtype)


@pytest.mark.parametrize("suffix", ["jxl", "avif"])
def test_that_a_lossy_file_is_near_and_keeps_its_metadata(suffix, tmp_path):
    smooth = np.add.outer(np.arange(40), np.arange(60))[..., np.newaxis].repeat(3, 2).astype(np.uint8)
    block = Image.Exif()
    block[271] = "A camera"
    metadata = Metadata(block.tobytes()[6:], (300.0, 300.0))
    assert save_image(Picture(smooth, metadata=metadata), tmp_path / f"a.{suffix}") == ()
    again = open_image(tmp_path / f"a.{suffix}")
    found = Image.Exif()
    found.load(again.metadata.exif)
    assert np.abs(again.pixels.astype(int) - smooth).max() <= 4
    assert (found[271], found[282]) == ("A camera", 300)


def test_that_a_deep_avif_keeps_its_depth(opened):
    for bits in (10, 12):
        stored = RANDOM.integers(0, 2**bits, (8, 9, 3), np.uint16)
        stored[0, 0] = 2**bits - 1
        picture = opened(imagecodecs.avif_encode(stored, bitspersample=bits))
        assert np.array_equal(picture.pixels >> (16 - bits), stored)
        assert picture.pixels.max() == 2**16 - 1
        assert picture.notes == (f"Its {bits}-bit samples were scaled to 16 bit.",)


def test_that_a_turned_avif_is_upright(opened):
    for how in [0, 6, 3, 8]:
        block = Image.Exif()
        block[274] = how
        pixels = np.kron(np.array([[0, 90], [170, 255]], np.uint8), np.ones((16, 24), np.uint8))
        rgb = np.dstack([pixels] * 3)
        data = with_pillow(rgb, "AVIF", quality=100, subsampling="4:4:4", exif=block.tobytes())
        upright = np.rot90(rgb, {0: 0, 6: 3, 3: 2, 8: 1}[how])
        found = opened(data).pixels
        assert found.shape == upright.shape
        assert np.abs(found.astype(int) - upright).max() < 40


def test_that_each_kind_of_pnm_is_read(opened):
    for data, pixels in [
        (b"P2 2 1 # comment\n255\n7 # seven\n 200", [[7, 200]]),
        (b"P3\n1 1\n65535\n1 2 65535\n", [[[1, 2, 65535]]]),
        (b"P5\n2 1\n255\n\x01\xff", [[1, 255]]),
        (b"P5\n2 1\n65535\n\x01\x02\xff\xff", [[258, 65535]]),
        (b"P6\n1 1\n255\nabc", [[[97, 98, 99]]]),
        (b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\nabc", [[[97, 98, 99]]]),
    ]:
        assert opened(data).pixels.tolist() == pixels
    # Another full scale becomes ours.
    picture = opened(b"P5\n3 1\n1023\n\x00\x00\x02\x00\x03\xff")
    assert picture.pixels.tolist() == [[0, round(512 * 65535 / 1023), 65535]]
    assert picture.notes == ("Its values of up to 1,023 were scaled to 65,535.",)


HUGE = 100_000
GREY = npy(np.zeros((2, 2), np.uint8))
HUGE_GREY = GREY.replace(b"(2, 2), }     ", b"(100000, 100000), }")
GREY_4 = np.array([[1, 2], [3, 4]], np.uint8)


def npz(*arrays, save=np.savez_compressed):
    """Return the bytes of an archive of arrays."""
    return npy(arrays[0], lambda buffer, _: save(buffer, *arrays))


def zipped(files):
    """Return a ZIP of files by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


JXL = imagecodecs.jpegxl_encode(samples(3, np.uint8), lossless=True)
AVIF = imagecodecs.avif_encode(np.zeros((16, 16, 3), np.uint8))
PLANES = RANDOM.integers(0, 256, (5, 8, 9), np.uint8)
PLANAR_JXL = imagecodecs.jpegxl_encode(PLANES, lossless=True, photometric="gray", planar=True)


@pytest.mark.slow
def test_that_what_is_no_picture_of_them_is_refused_in_words(refused):
    for data, says in [
        (b"P5\n100000 100000\n255\n", "its 100,000 × 100,000 pixels take 9.3 GiB"),
        (b"P3\n100000 100000\n255\n1 2 3", "its 100,000 × 100,000 pixels take 27.9 GiB"),
        (HUGE_GREY, "its 100,000 × 100,000"),
        (npy(np.zeros(4, np.uint8)), "(4,); a picture is rows × columns, or rows × columns × 1 to 4"),
        (npy(np.zeros((9, 9, 5), np.uint8)), "its shape is (9, 9, 5); a picture is"),
        (npy(np.zeros((5, 9, 9), np.uint8)), "a stack of 5 pictures"),
        (npy(np.zeros((5, 9, 9, 3), np.uint8)), "a stack of 5 pictures"),
        (npy(np.zeros((0, 2), np.uint8)), "its header says 2 × 0 pixels"),
        (npy(np.zeros((2, 2), np.complex64)), "its values are complex64; a picture has whole numbers"),
        (npy(np.zeros((2, 3), np.uint8, "F"))[:-1], "it has 133 bytes, its 3 × 2 pixels take 134"),
        (npz(GREY_4, GREY_4), "a ZIP archive of 2 files"),
        (npz(GREY_4)[:-30], "cut short"),
        (npz(GREY_4, save=np.savez).replace(npy(GREY_4)[-4:], b"xxxx"), "damaged ZIP archive"),
        (npz(GREY_4).replace(zlib.crc32(npy(GREY_4)).to_bytes(4, "little"), b"xxxx"), "damaged ZIP archive"),
        (zipped({str(number): b"" for number in range(3000)}), "very many files"),
        (zipped({"word/document.xml": b"<xml/>"}), "a ZIP archive of 1 files, and no .npz of one array"),
        (zipped({"arr_0.npy": HUGE_GREY}), "its 100,000 × 100,000"),
        (zipped({"arr_0.npy": npy(np.array([[None]]))}), "Python objects"),
        (b"P5\n2 1\n70000\n1234", "full scale is 70,000, which PNM does not have"),
        (b"P6\n2 x", "its header is damaged or cut short"),
        (b"P4\n10 1\n\x80\x40", "black or white (PBM)"),
        (b"P5\n2 2\n255\nabc", "its 2 × 2 pixels take 15 at least"),
        (b"P2\n2 2\n255\n1 2    3", "it has 3 of 4 numbers"),
        (b"P2\n2 1\n255\n1 -2", "or one below 0"),
        (b"P7\nWIDTH 1\n", "its header has no end"),
        (b"P5 " + 5_000 * b"  #\n" + b"x", "its header is damaged or cut short"),
        (PLANAR_JXL, "further channels"),
    ]:
        assert says in refused(data).why


def test_that_a_header_that_promises_too_much_is_refused(refused):
    at, side = AVIF.index(b"ispe") + 8, 0b11 | (HUGE - 1) << 2
    refused(AVIF[:at] + 2 * HUGE.to_bytes(4, "big") + AVIF[at + 8 :])
    refused(b"\xff\x0a" + (side << 1 | side << 36).to_bytes(12, "little") + JXL[12:])


def test_that_a_jpeg_xl_is_measured_before_it_is_decoded(refused, monkeypatch):
    data = imagecodecs.jpegxl_encode(np.zeros((2000, 2001, 3), np.uint8), effort=1)
    decode, given = imagecodecs.jpegxl_decode, []
    monkeypatch.setattr(
        imagecodecs, "jpegxl_decode", lambda data, **how: given.append(how["out"].size) or decode(data, **how)
    )
    assert "its 2,001 × 2,000 pixels take" in refused(data, max_bytes=10**7).why
    assert set(given) == {0}


def test_that_what_an_array_or_a_jpeg_xl_cannot_keep_is_named(tmp_path):
    picture = Picture(samples(3, np.uint8), None, RGB_PROFILE, metadata=Metadata(b"exif", (300.0, 300.0)))
    assert save_image(picture, tmp_path / "a.npy") == (
        "The colour profile is not saved: a NumPy file holds none here.",
        "EXIF data and resolution (DPI) of the opened file are not saved: NumPy has none.",
    )
    said = save_image(picture, tmp_path / "a.jxl", metadata=False)
    assert said == ("The colour profile is not saved: a JPEG XL file holds none here.",)


def test_that_a_jpeg_that_is_packed_as_it_is_is_opened_as_that_jpeg(opened):
    for profile in (b"", RGB_PROFILE):
        data = with_pillow(samples(3, np.uint8), "JPEG", icc_profile=profile, dpi=(300, 300))
        picture, wanted = opened(imagecodecs.jpegxl_encode_jpeg(data)), opened(data)
        assert np.array_equal(picture.pixels, wanted.pixels)
        assert (picture.icc_profile or b"", picture.format, picture.notes) == (profile, "JPEG XL", ())
        assert picture.metadata == wanted.metadata


def test_that_a_jpeg_xl_of_fewer_bits_than_16_says_that_they_are_not_scaled(opened):
    stored = RANDOM.integers(0, 1024, (8, 9, 3), np.uint16)
    picture = opened(imagecodecs.jpegxl_encode(stored, lossless=True, bitspersample=10))
    assert np.array_equal(picture.pixels, stored)
    assert "All of its values are below 4,096: 10 or 12 bits are not scaled." in picture.notes


COUNTED = np.arange(5 * 7 * 3).reshape(5, 7, 3)
ARRAYS = {
    "made": ["rows", "columns", "npz", "npz of columns", "npz, not compressed"],
    "dtype": ["u1", "<u2", ">u2", "f4", ">f8", "i1", "i2", ">i4", "u4", "i8", "u8", "?"],
    "shape": [(5, 21), (5, 7, 3), (21, 5, 1)],
}


@pytest.mark.parametrize("has_all", [False, pytest.param(True, marks=pytest.mark.matrix)])
def test_that_arrays_of_every_real_type_and_order_are_opened(opened, has_all):
    rows = (row.values() for row in pairwise(ARRAYS))
    for made, dtype, shape in itertools.product(*ARRAYS.values()) if has_all else rows:
        array = COUNTED.reshape(shape).astype(dtype)
        if np.dtype(dtype).kind == "i":
            array = array - array.dtype.type(50)
        array = np.asfortranarray(array) if "columns" in made else array
        save = np.savez if "not" in made else np.savez_compressed
        picture = opened(npz(array, save=save) if "npz" in made else npy(array))
        wanted = array * 255 if dtype == "?" else array
        np.testing.assert_array_equal(picture.pixels, wanted.reshape(picture.pixels.shape))
        assert picture.dtype == (np.dtype(dtype) if dtype in ("u1", "<u2") else picture.dtype)
        kept = array.dtype.newbyteorder("=") in (np.uint8, np.uint16, np.float32)
        assert (picture.notes == ()) == kept
