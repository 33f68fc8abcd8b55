"""Tiles of large pictures: each level against a picture that was halved as a whole, samples, damage, time."""

import math
import time

import numpy as np
import pytest
import tifffile

from engine.errors import ImageReadError
from engine.host import halved_tiles
from engine.host.halved_tiles import HalvedTiles, TimeIsOver
from engine.host.protocol import TILE, WHOLE
from engine.image.large.opening import open_large

SHAPES = {"uint8": (600, 1191, 3), "uint16": (447, 1029, 1), "float32": (513, 530, 1)}


def pixels_of(dtype):
    random, shape = np.random.default_rng(5), SHAPES[dtype]
    if dtype == "float32":
        return random.random(shape, np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def wanted_levels(pixels):
    """Return every level by plain arithmetic in float64: the mean of two by two, an edge beside itself."""
    levels = [pixels]
    while max(levels[-1].shape[:2]) > TILE:
        last = levels[-1].astype(np.float64)
        height, width = last.shape[:2]
        rows = np.minimum(np.arange(2 * ((height + 1) // 2)), height - 1)
        columns = np.minimum(np.arange(2 * ((width + 1) // 2)), width - 1)
        last = last[rows][:, columns]
        total = last[0::2, 0::2] + last[0::2, 1::2] + last[1::2, 0::2] + last[1::2, 1::2]
        if pixels.dtype.kind == "f":
            levels.append((total / 4).astype(np.float32))
        else:
            levels.append(np.floor((total + 2) / 4).astype(pixels.dtype))
    return levels


def written(folder, pixels, kind):
    path = folder / f"picture{'.npy' if kind == 'npy' else '.tif'}"
    flat = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    colours = {"photometric": "rgb" if pixels.shape[2] == 3 else "minisblack"}
    if kind == "npy":
        np.save(path, pixels)
    elif kind == "tiles":
        tifffile.imwrite(path, flat, tile=(128, 128), compression="zlib", **colours)
    elif kind == "strips":
        tifffile.imwrite(path, flat, rowsperstrip=16, compression="zlib", **colours)
    else:
        with tifffile.TiffWriter(path) as file:
            options = {"tile": (128, 128), **colours}
            levels = wanted_levels(pixels)
            file.write(flat, subifds=len(levels) - 1, **options)
            for level in levels[1:]:
                file.write(level[..., 0] if pixels.shape[2] == 1 else level, subfiletype=1, **options)
    return path


def places(tiles, level):
    rows, columns = tiles.levels[level]
    return [(row, column) for row in range(-(-rows // TILE)) for column in range(-(-columns // TILE))]


@pytest.fixture
def opened(tmp_path):
    """Open pictures as tiles; they are closed after the test."""
    found = []

    def make(pixels, kind="npy"):
        found.append(open_large(written(tmp_path, pixels, kind)))
        return HalvedTiles(found[-1])

    yield make
    for picture in found:
        picture.close()


@pytest.fixture
def few_bytes(monkeypatch):
    """Make all levels but full size take long to read."""
    monkeypatch.setattr(halved_tiles, "READ_BYTES", TILE * TILE * 12)
    monkeypatch.setattr(halved_tiles, "_ROW_BYTES", 1 << 19)
    monkeypatch.setattr(halved_tiles, "_WIDE", 512)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [*zip(("npy", "tiles", "strips", "pyramid"), ("uint8", "uint16", "float32", "uint8"), strict=True)],
)
def test_that_each_tile_is_that_part_of_the_halved_picture(opened, few_bytes, dtype, kind):
    pixels = pixels_of(dtype)
    tiles, wanted = opened(pixels, kind), wanted_levels(pixels)
    assert list(tiles.levels) == [level.shape[:2] for level in wanted]
    for level in reversed(range(len(wanted))):
        for place in places(tiles, level):
            tile = tiles.whole(level, place, math.inf)
            rows, columns = tiles.extent(level, place)
            if dtype == "float32":
                # Each halving adds three times and scales exactly: (1 + u)^3 of the sum, half an ulp kept.
                bound = 4 * level * np.finfo(np.float32).eps
                assert np.abs(tile.astype(np.float64) - wanted[level][rows, columns]).max() <= bound
            else:
                np.testing.assert_array_equal(tile, wanted[level][rows, columns])


def test_that_a_rectangle_is_that_part_of_its_level(opened):
    pixels = pixels_of("uint8")
    tiles, wanted = opened(pixels), wanted_levels(pixels)[1]
    found = tiles.rectangle(1, slice(100, 290), slice(255, 590), math.inf)
    np.testing.assert_array_equal(found, wanted[100:290, 255:590])


def test_that_what_was_read_in_time_is_kept_for_the_next_request(opened, few_bytes, monkeypatch):
    tiles = opened(pixels_of("uint8"), "tiles")
    level, reads = len(tiles.levels) - 1, 0
    read = tiles.picture.read

    def counted(*rectangle):
        nonlocal reads
        reads += 1
        # Each request has the time for one.
        monkeypatch.setattr(time, "monotonic", lambda: 10.0)
        return read(*rectangle)

    monkeypatch.setattr(tiles.picture, "read", counted)
    tile = None
    while tile is None:
        monkeypatch.setattr(time, "monotonic", lambda: 0.0)
        try:
            tile = tiles.whole(level, (0, 0), 1.0)
        except TimeIsOver:
            assert reads
    assert reads == len(places(tiles, tiles.sampled_from - 1))


@pytest.mark.parametrize("detail", range(WHOLE))
def test_that_a_sample_of_an_even_picture_is_even(opened, few_bytes, detail):
    tiles = opened(np.full((900, 1200, 3), 77, np.uint8), "tiles")
    sample = tiles.sampled(tiles.sampled_from, (0, 0), detail, 4)
    assert (sample == 77).all()
    assert sample.shape[0] < TILE


def test_that_the_samples_of_a_view_take_few_chunks(opened, few_bytes, monkeypatch):
    tiles = opened(pixels_of("uint8"), "tiles")
    reads = []
    read = tiles.picture.read
    monkeypatch.setattr(tiles.picture, "read", lambda *rectangle: reads.append(rectangle) or read(*rectangle))
    for _ in range(40):
        tiles.sampled(1, (0, 0), 0, 40)
    assert len(reads) <= 200


def damaged(path, number=0):
    """Overwrite a compressed tile."""
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        offset, count = page.dataoffsets[number], page.databytecounts[number]
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xff" * count)


def test_that_a_damaged_part_of_the_file_costs_its_tile_alone_and_is_black_in_smaller_levels(tmp_path):
    pixels = pixels_of("uint8")
    path = written(tmp_path, pixels, "tiles")
    damaged(path)
    with open_large(path) as picture:
        tiles = HalvedTiles(picture)
        assert tiles.whole(0, (0, 0), math.inf) is None
        np.testing.assert_array_equal(tiles.whole(0, (0, 1), math.inf), pixels[:TILE, TILE : 2 * TILE])
        assert "damaged" in str(tiles.fault)
        pixels[:TILE, :TILE] = 0
        smaller = tiles.whole(1, (0, 0), math.inf)
        np.testing.assert_array_equal(smaller, wanted_levels(pixels)[1][:TILE, :TILE])
        with pytest.raises(ImageReadError, match="damaged"):
            tiles.rectangle(0, slice(0, 300), slice(0, 300), math.inf)
