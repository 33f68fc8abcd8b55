import io
from itertools import product

import numpy as np
import pytest
import tifffile
from PIL import Image

from engine.image.large.opening import open_large
from engine.image.open import open_image
from tests.engine.image.encoded import retagged, smooth_rgb, tiff_around, with_pillow, with_tifffile
from tests.pairwise import pairwise

RGB = smooth_rgb(11, 13)
PARTS = ((0, 23), (0, 17)), ((5, 20), (3, 17)), ((17, 23), (0, 16)), ((9, 10), (16, 17))
GREY = np.ascontiguousarray(RGB[..., 0])
GREYS = {"photometric": 1, "samples": 1}


def packed(values, bits):
    """One row of values of a few bits each, filled to whole bytes."""
    digits = "".join(f"{value:0{bits}b}" for value in values)
    byte_count = -(-len(digits) // 8)
    return int(digits.ljust(8 * byte_count, "0"), 2).to_bytes(byte_count, "big")


def test_that_planes_with_alpha_keep_their_places(opened):
    image, options = np.dstack([RGB, GREY + 7]), {"extrasamples": ["unassalpha"], "bigtiff": True}
    planes = np.ascontiguousarray(np.moveaxis(image, 2, 0))
    for stored, planar in ((image, "contig"), (planes, "separate")):
        picture = opened(with_tifffile(stored, photometric="rgb", planarconfig=planar, **options))
        assert np.array_equal(picture.pixels, RGB)
        assert np.array_equal(picture.alpha, GREY + 7)


def test_that_packed_depths_fill_the_next_of_ours(opened):
    for bits in [1, 2, 4, 10, 12, 14]:
        values = range(2**bits) if bits < 8 else [0, 1, 2 ** (bits - 1), 2**bits - 1]
        full = 255 if bits < 8 else 65535
        picture = opened(tiff_around(packed(values, bits), len(values), 1, 1, bits, **GREYS))
        assert picture.pixels.tolist() == [[round(value * full / (2**bits - 1)) for value in values]]
        assert picture.dtype == np.min_scalar_type(full)
        assert bits == 1 or f"{bits}-bit" in picture.notes[0]


FLAT = np.full((16, 16, 3), (200, 100, 50), np.uint8)
INKS = np.array([[[0, 0, 0, 0], [255, 0, 0, 0], [0, 0, 0, 255], [0, 255, 255, 51]]], np.uint8)
OF_INKS = [[[255, 255, 255], [0, 255, 255], [0, 0, 0], [204, 0, 0]]]
PLANES = np.stack([GREY, GREY + 1, GREY + 2])
COLOURS = np.random.default_rng(2).integers(0, 256, (3, 256))
COLOURS[0, 0] = 255
YCBCR = np.array([[(255, 128, 128), (76, 85, 255), (0, 128, 128)]], np.uint8)
OF_YCBCR = [[(255, 255, 255), (255, 0, 0), (0, 0, 0)]]
NOT_NUMBERS = np.array([[np.nan, np.inf, np.nan], [0, 0, 0]], np.float32)


def contiguous(*parts, **options):
    return with_tifffile(np.dstack(parts), photometric="rgb", planarconfig="contig", **options)


def of_palette(factor):
    colours = (COLOURS * factor).astype(np.uint16)
    return with_tifffile(GREY, photometric="palette", colormap=colours), COLOURS.T[GREY], 0, ""


def test_that_every_colour_model_becomes_grey_or_rgb(opened):
    for data, expected, tolerance, note in [
        (with_tifffile(GREY, photometric="miniswhite"), 255 - GREY, 0, ""),
        (with_tifffile(FLAT, photometric="rgb", compression="jpeg"), FLAT, 4, ""),
        *map(of_palette, (256, 257, 1)),
        (with_tifffile(INKS, photometric="separated", planarconfig="contig"), OF_INKS, 0, "CMYK"),
        (with_tifffile(YCBCR, photometric="ycbcr", subsampling=(1, 1)), OF_YCBCR, 2, ""),
        (contiguous(RGB, GREY, GREY, extrasamples=["unspecified"] * 2), RGB, 0, "2 more values"),
        (with_tifffile(PLANES, photometric="minisblack"), GREY, 0, "It has 3 pages; the first was opened."),
    ]:
        picture = opened(data)
        assert np.abs(picture.pixels.astype(int) - expected).max() <= tolerance
        assert (picture.dtype, picture.alpha) == (np.uint8, None)
        assert len(picture.notes) == (note != "")
        assert note in "".join(picture.notes)


def test_that_premultiplied_alpha_becomes_straight(opened):
    straight = np.array([[(200, 100, 0), (10, 20, 30)]], np.uint8)
    alpha = np.array([[51, 255]], np.uint8)
    stored = np.rint(straight * (alpha[..., None] / 255)).astype(np.uint8)
    picture = opened(contiguous(stored, alpha, extrasamples=["assocalpha"]))
    assert np.array_equal(picture.pixels, straight)
    assert np.array_equal(picture.alpha, alpha)


def test_that_other_number_types_become_float_with_a_note(opened):
    for dtype in [np.int8, np.int16, np.uint32, np.int32, np.float16, np.float64]:
        image = np.array([[0, 1, 100], [3, 4, 127]], dtype) * dtype(1 if dtype == np.uint32 else -1)
        picture = opened(with_tifffile(image, photometric="minisblack"))
        assert picture.dtype == np.float32
        assert np.array_equal(picture.pixels, image)
        (note,) = picture.notes
        assert "32-bit float" in note
    picture = opened(with_tifffile(np.array([[2**24 + 1, 0]], np.int32), photometric="minisblack"))
    assert picture.pixels.tolist() == [[2.0**24, 0]]
    assert "exact up to 16,777,216" in picture.notes[0]
    notes = opened(with_tifffile(NOT_NUMBERS, photometric="minisblack")).notes
    assert notes == ("2 values are NaN.", "1 value is infinite.")


def test_that_what_is_no_picture_is_refused_in_words(refused):
    of_volume = {"photometric": "minisblack", "volumetric": True, "tile": (4, 16, 16)}
    for data, words in [
        (with_tifffile(np.zeros((4, 16, 16), np.uint8), **of_volume), "volume of 4 slices"),
        (with_tifffile(np.zeros((4, 4), np.complex64)), "complex64"),
        (with_tifffile(np.zeros((4, 4), np.uint8), photometric="cfa"), "raw sensor data"),
        (tiff_around(bytes(4), 4, 1, photometric=3, samples=1), "without its palette"),
        (tiff_around(bytes(9), 4, 4, **GREYS), "have 9 bytes, its 4 × 4 pixels take 16 at least"),
        (tiff_around(bytes(9), 0, 4, **GREYS), "0 × 4 pixels"),
        (tiff_around(bytes(8), 4, 1, samples=2), "2 samples per pixel"),
        (b"II*\0\x08\0\0\0\0\0\0\0\0\0", "0 × 0 pixels"),
    ]:
        assert words in refused(data).why


def test_that_missing_tiles_are_filled_with_a_note(opened):
    options = {"photometric": "minisblack", "tile": (16, 16), "compression": "zlib"}
    data = with_tifffile(np.full((32, 16), 9, np.uint8), **options)
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        offset, count = file.pages[0].dataoffsets[0], file.pages[0].databytecounts[0]
    picture = opened(retagged(data, TileOffsets=[offset, 0], TileByteCounts=[count, 0]))
    assert (picture.pixels[:16] == 9).all()
    assert (picture.pixels[16:] == 0).all()
    assert "1 of its 2 tiles" in picture.notes[0]


LAYOUTS = {
    "compression": [None, "zlib", "lzw", "packbits", "zstd", "lzma"],
    "dtype": [np.uint8, np.uint16, np.float32, np.float64],
    "planarconfig": ["contig", "separate"],
    "byteorder": ["<", ">"],
    "predictor": [False, True],
    "cut": [{"rowsperstrip": 23}, {"rowsperstrip": 9}, {"tile": (16, 32)}],
}


def is_layout(row):
    return not row.get("predictor") or row.get("compression", "zlib") not in (None, "packbits", "lzma")


@pytest.mark.parametrize("has_all", [False, pytest.param(True, marks=pytest.mark.matrix)])
def test_that_each_layout_is_exact_in_strips_and_in_tiles(opened, has_all):
    every = (dict(zip(LAYOUTS, values, strict=True)) for values in product(*LAYOUTS.values()))
    for case in filter(is_layout, every) if has_all else pairwise(LAYOUTS, is_layout):
        dtype, cut, layout = case["dtype"], case["cut"], {**case}
        del layout["dtype"], layout["cut"]
        values = smooth_rgb(23, 17).astype(dtype)
        if dtype != np.uint8:
            values = values * values.dtype.type(100.5)
        is_planar = layout["planarconfig"] == "separate"
        stored = np.ascontiguousarray(np.moveaxis(values, 2, 0)) if is_planar else values
        picture = opened(with_tifffile(stored, photometric="rgb", **layout, **cut))
        assert np.array_equal(picture.pixels, values), case
        assert picture.dtype == (np.float32 if dtype == np.float64 else dtype), case
        assert picture.pixels.flags.c_contiguous, case
        with open_large(picture.source) as parts:
            for rows, columns in PARTS:
                found = parts.read(0, slice(*rows), slice(*columns))
                assert np.array_equal(found, values[slice(*rows), slice(*columns)]), case


def test_that_a_strip_that_stops_early_or_is_damaged_is_refused(refused):
    noise = np.random.default_rng(3).integers(0, 256, RGB.shape, np.uint8)
    for compression in ["zlib", "lzw", "packbits", "zstd"]:
        data = with_tifffile(noise, compression=compression)
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            (begin,), (size,) = file.pages[0].dataoffsets, file.pages[0].databytecounts
        refused(retagged(data, StripByteCounts=size // 2))
        if compression == "zlib":
            # One bit of stored noise: only the checksum tells, which comes after the last pixel.
            at = begin + size // 2
            refused(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def of_jpegs():
    """TIFFs of JPEGs: grey, colours at full and at half resolution, in strips and in tiles."""
    rgb = smooth_rgb(75, 133)
    grey = np.ascontiguousarray(rgb[..., 0])
    raw = {"colorspace": "RGB", "outcolorspace": "RGB"}
    for layout in ({"rowsperstrip": 16}, {"rowsperstrip": 75}, {"tile": (32, 64)}):
        common = {"compression": "jpeg", **layout}
        yield with_tifffile(grey, photometric="minisblack", **common)
        # Adobe's marker, no JFIF's.
        yield with_tifffile(rgb, photometric="rgb", compressionargs=raw, **common)
        for subsampling in ((1, 1), (2, 1), (2, 2)):
            yield with_tifffile(rgb, photometric="ycbcr", subsampling=subsampling, **common)
        planes = np.ascontiguousarray(np.moveaxis(rgb, 2, 0))
        yield with_tifffile(planes, photometric="rgb", planarconfig="separate", **common)
    for mode in ("L", "RGB", "YCbCr"):  # strips that share their tables
        yield with_pillow(Image.fromarray(rgb).convert(mode), "TIFF", compression="jpeg", quality=80)


def test_that_strips_of_jpeg_have_the_pixels_that_imagecodecs_decodes(monkeypatch, opened):
    files = list(of_jpegs())
    # Two more, whose JPEGs say nothing of being RGB, or that they are not.
    plain = next(data for data in files if b"Adobe" in data and b"JFIF" not in data)
    model = plain[plain.index(b"Adobe") :][:12]
    files += [plain.replace(model, b"Other" + model[5:]), plain.replace(model, model[:-1] + b"\1")]
    expected = [tifffile.imread(io.BytesIO(data)) for data in files]
    # What simplejpeg cannot decode would be.
    monkeypatch.setattr("imagecodecs.jpeg8_decode", None)
    for data, pixels in zip(files, expected, strict=True):
        picture = opened(data)
        assert np.array_equal(picture.pixels, pixels if pixels.shape[0] != 3 else np.moveaxis(pixels, 0, 2))
        assert picture.notes == ()


def pages(*shapes, order="<", below=False):
    """Return a TIFF with pages of these shapes, a mark for a reduced version, and a colour model, and these.

    `below`: those after the first are below it (SubIFDs), as cameras write them.
    """
    rng, buffer, made = np.random.default_rng(5), io.BytesIO(), []
    with tifffile.TiffWriter(buffer, byteorder=order, bigtiff=order == ">") as writer:
        for number, (shape, is_reduced, photometric) in enumerate(shapes):
            made.append(rng.integers(0, 256, shape, np.uint8))
            more = {"subifds": len(shapes) - 1} if below and not number else {}
            how = {"photometric": photometric, "subfiletype": int(is_reduced), "metadata": None}
            writer.write(made[-1], **how, **more)
    return buffer.getvalue(), made


SMALL, FULL, RAW = ((4, 6, 3), True, "rgb"), ((40, 60, 3), False, "rgb"), ((40, 60), False, "cfa")
PREVIEW = ((20, 30, 3), True, "rgb")


def test_that_the_picture_is_opened_and_not_the_reduced_version_before_it(tmp_path):
    """Both as a whole and in parts, with a note on what else there is."""
    for shapes, chosen in [
        ((SMALL, FULL), 1),
        ((SMALL, PREVIEW, FULL), 2),
        ((SMALL, FULL, PREVIEW), 1),
        # Of raw data, which is not read, the best version.
        ((SMALL, RAW, PREVIEW), 2),
        ((SMALL, RAW), 0),
        ((SMALL,), 0),
        # The usual order: the picture, then smaller ones.
        ((FULL, PREVIEW, SMALL), 0),
    ]:
        for below, order in product([False, True], ["<", ">"]):
            data, made = pages(*shapes, order=order, below=below and len(shapes) > 1)
            (tmp_path / "a.tif").write_bytes(data)
            whole = open_image(tmp_path / "a.tif")
            np.testing.assert_array_equal(whole.pixels, made[chosen])
            has_others = len(shapes) > 1 and not (below and shapes[0] is FULL)
            assert bool(whole.notes) == has_others, whole.notes
            with open_large(tmp_path / "a.tif") as parts:
                height, width = parts.levels[0]
                found = parts.read(0, slice(0, height), slice(0, width))
                np.testing.assert_array_equal(found, made[chosen])
                assert shapes[0] is FULL or whole.notes == parts.notes


def test_that_the_camera_of_a_picture_below_its_reduced_version_is_known(opened):
    small, full = np.zeros((4, 6, 3), np.uint8), np.zeros((40, 60, 3), np.uint8)
    buffer = io.BytesIO()
    with tifffile.TiffWriter(buffer) as writer:
        tags = [(271, 2, 0, "A camera", True), (274, 3, 1, 6, True)]
        writer.write(small, photometric="rgb", subfiletype=1, subifds=1, metadata=None, extratags=tags)
        writer.write(full, photometric="rgb", subfiletype=0, metadata=None)
    picture = opened(buffer.getvalue())
    # Turned as the first page says.
    assert picture.pixels.shape == (60, 40, 3)
    assert b"A camera" in picture.metadata.exif


def test_that_pages_without_tags_of_their_own_are_counted(opened):
    for how in ({"imagej": True}, {"truncate": True}):
        buffer = io.BytesIO()
        tifffile.imwrite(buffer, np.zeros((5, 8, 9), np.uint8), photometric="minisblack", **how)
        assert any("5 pages" in note for note in opened(buffer.getvalue()).notes)
