import io
import struct

import numpy as np
import pytest
import tifffile

from engine.errors import ImageReadError
from engine.image.open import open_image
from tests.engine.image.encoded import smooth_rgb, with_tifffile

RGB = smooth_rgb(11, 13)
GREY = np.ascontiguousarray(RGB[..., 0])


@pytest.fixture
def opened(tmp_path):
    def open_bytes(data):
        path = tmp_path / "picture.tif"
        path.write_bytes(data)
        return open_image(path)

    return open_bytes


def tiff_of(entries, strip):
    """A little-endian TIFF by hand, for what tifffile does not write; entries are (tag, type, values)."""
    sizes = {1: "B", 3: "H", 4: "I"}
    entries = sorted([*entries, (273, 4, [0]), (279, 4, [len(strip)])])
    position = 8 + 2 + 12 * len(entries) + 4
    directory, outside = struct.pack("<H", len(entries)), b""
    for tag, kind, values in entries:
        value = struct.pack(f"<{len(values)}{sizes[kind]}", *values)
        if tag == 273:
            value = b"STRP"
        if len(value) > 4:
            outside, value = outside + value, struct.pack("<I", position + len(outside))
        directory += struct.pack("<HHI", tag, kind, len(values)) + value.ljust(4, b"\0")
    directory = directory.replace(b"STRP", struct.pack("<I", position + len(outside)))
    return b"II*\0\x08\0\0\0" + directory + bytes(4) + outside + strip


def tags(width, height, bits, photometric, samples=1, **more):
    return [
        (256, 3, [width]),
        (257, 3, [height]),
        (258, 3, [bits] * samples),
        (259, 3, [1]),
        (262, 3, [photometric]),
        (277, 3, [samples]),
        (278, 3, [height]),
        *more.get("more", []),
    ]


def packed(values, bits):
    """One row of values of a few bits each, filled to whole bytes."""
    digits = "".join(f"{value:0{bits}b}" for value in values)
    byte_count = -(-len(digits) // 8)
    return int(digits.ljust(8 * byte_count, "0"), 2).to_bytes(byte_count, "big")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("byte_order", ["<", ">"])
@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_that_rgb_keeps_its_depth_in_any_byte_order_and_layout(opened, dtype, byte_order, planar):
    image = (RGB.astype(np.float64) * (257 if dtype == np.uint16 else 1.5)).astype(dtype)
    stored = np.ascontiguousarray(np.moveaxis(image, 2, 0)) if planar == "separate" else image
    picture = opened(with_tifffile(stored, byteorder=byte_order, photometric="rgb", planarconfig=planar))
    assert picture.dtype == dtype
    assert picture.pixels.flags.c_contiguous
    assert np.array_equal(picture.pixels, image)


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_that_planes_with_alpha_keep_their_places(opened, planar):
    image = np.dstack([RGB, GREY + 7])
    stored = np.ascontiguousarray(np.moveaxis(image, 2, 0)) if planar == "separate" else image
    options = {"photometric": "rgb", "planarconfig": planar, "extrasamples": ["unassalpha"], "bigtiff": True}
    picture = opened(with_tifffile(stored, **options))
    assert np.array_equal(picture.pixels, RGB)
    assert np.array_equal(picture.alpha, GREY + 7)


def test_that_white_is_white_where_zero_means_white(opened):
    picture = opened(with_tifffile(GREY, photometric="miniswhite"))
    assert np.array_equal(picture.pixels, 255 - GREY)


@pytest.mark.parametrize("compression", [None, "lzw", "packbits", "zlib", "zstd", "lzma"])
def test_that_every_exact_compression_is_exact(opened, compression):
    picture = opened(with_tifffile(RGB, photometric="rgb", compression=compression, rowsperstrip=4))
    assert np.array_equal(picture.pixels, RGB)


def test_that_a_jpeg_compressed_tiff_has_the_right_colours(opened):
    flat = np.full((16, 16, 3), (200, 100, 50), np.uint8)
    picture = opened(with_tifffile(flat, photometric="rgb", compression="jpeg"))
    assert np.abs(picture.pixels.astype(int) - flat).max() <= 4


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_that_few_bits_fill_the_8(opened, bits):
    values = np.arange(2**bits)
    picture = opened(tiff_of(tags(len(values), 1, bits, 1), packed(values, bits)))
    assert picture.pixels.tolist() == [[int(value * 255 // (2**bits - 1)) for value in values]]
    assert picture.dtype == np.uint8


@pytest.mark.parametrize("bits", [10, 12, 14])
def test_that_camera_depths_fill_the_16(opened, bits):
    values = [0, 1, 2 ** (bits - 1), 2**bits - 1]
    picture = opened(tiff_of(tags(4, 1, bits, 1), packed(values, bits)))
    assert picture.pixels.tolist() == [[round(value * 65535 / (2**bits - 1)) for value in values]]
    assert f"{bits}-bit" in picture.notes[0]


@pytest.mark.parametrize("factor", [256, 257, 1])
def test_that_a_palette_becomes_rgb_however_it_was_filled(opened, factor):
    colours = np.random.default_rng(2).integers(0, 256, (3, 256))
    colours[0, 0] = 255
    data = with_tifffile(GREY, photometric="palette", colormap=(colours * factor).astype(np.uint16))
    picture = opened(data)
    assert np.array_equal(picture.pixels, colours.T[GREY])
    assert picture.dtype == np.uint8


def test_that_premultiplied_alpha_becomes_straight(opened):
    straight = np.array([[(200, 100, 0), (10, 20, 30)]], np.uint8)
    alpha = np.array([[51, 255]], np.uint8)
    stored = np.dstack([np.rint(straight * (alpha[..., None] / 255)).astype(np.uint8), alpha])
    picture = opened(
        with_tifffile(stored, photometric="rgb", planarconfig="contig", extrasamples=["assocalpha"])
    )
    assert np.array_equal(picture.pixels, straight)
    assert np.array_equal(picture.alpha, alpha)


def test_that_values_of_unknown_meaning_are_left_out_with_a_note(opened):
    image = np.dstack([RGB, GREY, GREY])
    picture = opened(
        with_tifffile(image, photometric="rgb", planarconfig="contig", extrasamples=["unspecified"] * 2)
    )
    assert np.array_equal(picture.pixels, RGB)
    assert picture.alpha is None
    assert "2 more values" in picture.notes[0]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint32, np.int32, np.float16, np.float64])
def test_that_other_number_types_become_float_with_a_note(opened, dtype):
    image = np.array([[0, 1, 100], [3, 4, 127]], dtype)
    if np.dtype(dtype).kind != "u":
        image = -image
    picture = opened(with_tifffile(image, photometric="minisblack"))
    assert picture.dtype == np.float32
    assert np.array_equal(picture.pixels, image)
    assert "32-bit float" in picture.notes[0]
    assert len(picture.notes) == 1


def test_that_rounded_32_bit_integers_are_noted(opened):
    picture = opened(with_tifffile(np.array([[2**24 + 1, 0]], np.int32), photometric="minisblack"))
    assert picture.pixels.tolist() == [[2.0**24, 0]]
    assert "rounded" in picture.notes[1]


def test_that_values_that_are_no_numbers_are_counted(opened):
    image = np.zeros((2, 3), np.float32)
    image[0] = (np.nan, np.inf, np.nan)
    notes = opened(with_tifffile(image, photometric="minisblack")).notes
    assert notes == ("2 values are NaN.", "1 value is infinite.")


def test_that_cmyk_becomes_rgb(opened):
    inks = np.array([[[0, 0, 0, 0], [255, 0, 0, 0], [0, 0, 0, 255], [0, 255, 255, 51]]], np.uint8)
    picture = opened(with_tifffile(inks, photometric="separated", planarconfig="contig"))
    assert picture.pixels.tolist() == [[[255, 255, 255], [0, 255, 255], [0, 0, 0], [204, 0, 0]]]
    assert "CMYK" in picture.notes[0]


def test_that_lab_becomes_rgb(opened):
    # White, black, middle grey, and sRGB red, which is Lab (54.29, 80.81, 69.89) for white D50.
    lab = [(255, 0, 0), (0, 0, 0), (round(2.55 * 53.585), 0, 0), (round(2.55 * 54.29), 81, 70)]
    expected = np.array([(255, 255, 255), (0, 0, 0), (128, 128, 128), (255, 0, 0)])
    strip = b"".join(struct.pack("<Bbb", *colour) for colour in lab)
    picture = opened(tiff_of(tags(4, 1, 8, 8, samples=3), strip))
    assert np.abs(picture.pixels[0].astype(int) - expected).max() <= 3
    assert "Lab" in picture.notes[0]
    offset = bytes(value + 128 if i % 3 else value for i, value in enumerate(sum(lab, ())))
    assert np.array_equal(opened(tiff_of(tags(4, 1, 8, 9, samples=3), offset)).pixels, picture.pixels)


def test_that_plain_ycbcr_becomes_rgb(opened):
    strip = bytes([255, 128, 128, 76, 85, 255, 0, 128, 128])
    entries = tags(3, 1, 8, 6, samples=3, more=[(530, 3, [1, 1])])
    expected = np.array([(255, 255, 255), (255, 0, 0), (0, 0, 0)])
    assert np.abs(opened(tiff_of(entries, strip)).pixels[0].astype(int) - expected).max() <= 2


def test_that_of_several_pages_the_first_opens_with_a_note(opened):
    stack = np.stack([GREY, GREY + 1, GREY + 2])
    picture = opened(with_tifffile(stack, photometric="minisblack"))
    assert np.array_equal(picture.pixels, GREY)
    assert picture.notes == ("It has 3 pages; the first was opened.",)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            with_tifffile(
                np.zeros((4, 16, 16), np.uint8), photometric="minisblack", volumetric=True, tile=(4, 16, 16)
            ),
            "volume of 4 slices",
        ),
        (with_tifffile(np.zeros((4, 4), np.complex64)), "complex64"),
        (with_tifffile(np.zeros((4, 4), np.uint8), photometric="cfa"), "raw sensor data"),
        (tiff_of(tags(4, 1, 8, 3), bytes(4)), "without its palette"),
        (tiff_of(tags(4, 4, 8, 1), bytes(9)), "have 9 bytes, its 4 x 4 pixels take 16 at least"),
        (tiff_of(tags(0, 4, 8, 1), bytes(9)), "0 x 4 pixels"),
        (tiff_of(tags(4, 1, 8, 2, samples=2), bytes(8)), "2 samples per pixel"),
        (b"II*\0\x08\0\0\0\0\0\0\0\0\0", "0 x 0 pixels"),
    ],
    ids=["volume", "complex", "raw sensor", "no palette", "short strip", "no width", "two colours", "empty"],
)
def test_that_what_is_no_picture_is_refused_in_words(opened, data, words):
    with pytest.raises(ImageReadError, match=words):
        opened(data)


def test_that_missing_tiles_are_filled_and_noted(tmp_path):
    path = tmp_path / "sparse.tif"
    options = {"photometric": "minisblack", "tile": (16, 16), "compression": "zlib", "metadata": None}
    tifffile.imwrite(path, np.full((32, 16), 9, np.uint8), **options)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        page = tiff.pages[0]
        page.tags["TileOffsets"].overwrite([page.dataoffsets[0], 0])
        page.tags["TileByteCounts"].overwrite([page.databytecounts[0], 0])
    picture = open_image(path)
    assert (picture.pixels[:16] == 9).all()
    assert (picture.pixels[16:] == 0).all()
    assert "1 of its 2 tiles" in picture.notes[0]


def grown(dtype):
    values = smooth_rgb(23, 17).astype(dtype)
    return values if dtype == np.uint8 else values * values.dtype.type(100.5)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("compression", [None, "zlib", "lzw", "packbits", "zstd"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_that_large_strips_are_decoded_as_tifffile_does(
    monkeypatch, opened, dtype, compression, planar, order
):
    values = grown(dtype)
    predictors = [False] if compression in (None, "packbits") else [False, True]
    for predictor in predictors:
        stored = values if planar == "contig" else np.ascontiguousarray(np.moveaxis(values, 2, 0))
        for rows in (23, 9):
            data = with_tifffile(
                stored,
                photometric="rgb",
                planarconfig=planar,
                compression=compression,
                predictor=predictor,
                rowsperstrip=rows,
                byteorder=order,
            )
            with monkeypatch.context() as patch:
                patch.setattr("engine.image.tiff_rows._READ_BYTES", 0)
                patch.setattr("engine.image.tiff_rows._PIECE_BYTES", 50)
                patch.setattr("engine.image.scratch._BAND_BYTES", 300)
                # Differences of floats whose bytes are swapped are left to tifffile.
                if not (predictor and order == ">" and np.dtype(dtype).kind == "f"):
                    patch.setattr(tifffile.TiffPage, "asarray", None)
                assert np.array_equal(opened(data).pixels, values.astype(values.dtype.type, copy=False))


@pytest.mark.parametrize("compression", ["zlib", "lzw", "packbits", "zstd"])
def test_that_a_large_strip_that_stops_early_or_is_damaged_is_refused(monkeypatch, opened, compression):
    monkeypatch.setattr("engine.image.tiff_rows._READ_BYTES", 0)
    data = with_tifffile(
        np.random.default_rng(3).integers(0, 256, RGB.shape, np.uint8), compression=compression
    )
    with tifffile.TiffFile(io.BytesIO(data), mode="r+") as file:
        page = file.pages[0]
        (begin,), (size,) = page.dataoffsets, page.databytecounts
        page.tags["StripByteCounts"].overwrite(size // 2)
        cut = file.filehandle._fh.getvalue()
    with pytest.raises(ImageReadError):
        opened(cut)
    if compression == "zlib":
        # One bit of stored noise: only the checksum tells, which comes after the last pixel.
        monkeypatch.setattr("engine.image.tiff_rows._PIECE_BYTES", 1)
        flipped = bytearray(data)
        flipped[begin + size // 2] ^= 1
        with pytest.raises(ImageReadError):
            opened(bytes(flipped))
