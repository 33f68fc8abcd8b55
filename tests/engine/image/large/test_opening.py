"""Reading pictures in parts: rectangles of every kind of file, and what is wrong with files, in words."""

import json
import shutil

import numpy as np
import pytest
import tifffile

from engine.errors import ImageReadError
from engine.image.large.opening import open_large

zarr = pytest.importorskip("zarr")

HEIGHT, WIDTH = 77, 101
PARTS = [((0, HEIGHT), (0, WIDTH)), ((5, 31), (7, 40)), ((60, HEIGHT), (90, WIDTH)), ((33, 34), (0, 1))]


def pixels(dtype="uint8", channels=3):
    random = np.random.default_rng(5)
    if dtype == "float32":
        return random.random((HEIGHT, WIDTH, channels), np.float32)
    return random.integers(0, np.iinfo(dtype).max, (HEIGHT, WIDTH, channels), dtype)


def parts_differ(path, wanted):
    """Return the rectangles that are not those of the pixels."""
    wanted = wanted.reshape(*wanted.shape[:2], -1)
    parts = [(slice(*rows), slice(*columns)) for rows, columns in PARTS]
    with open_large(path) as found:
        return [part for part in parts if not np.array_equal(found.read(0, *part), wanted[part])]


def pyramid(path, **settings):
    wanted = pixels()
    with tifffile.TiffWriter(path, **settings) as tiff:
        options = {"tile": (32, 48), "photometric": "rgb", "metadata": {"axes": "YXS"} if settings else None}
        tiff.write(wanted, subifds=2 if settings else None, **options)
        for step in (2, 4):
            tiff.write(wanted[::step, ::step].copy(), subfiletype=1, **options)
    return wanted


def test_that_the_levels_of_a_pyramid_are_read(tmp_path):
    for settings in ({"ome": True}, {}):
        wanted = pyramid(tmp_path / "a.tif", **settings)
        with open_large(tmp_path / "a.tif") as found:
            assert found.levels == ((77, 101), (39, 51), (20, 26))
            assert np.array_equal(found.read(1, slice(3, 30), slice(4, 50)), wanted[::2, ::2][3:30, 4:50])


def test_that_planes_of_an_ome_tiff_are_channels(tmp_path):
    stored = np.random.default_rng(1).integers(0, 60_000, (2, 3, 3, HEIGHT, WIDTH), np.uint16)
    how = {"metadata": {"axes": "TZCYX"}, "photometric": "minisblack"}
    for tile in (None, (32, 48)):
        tifffile.imwrite(tmp_path / "a.ome.tif", stored, tile=tile, **how)
        assert parts_differ(tmp_path / "a.ome.tif", np.moveaxis(stored[0, 0], 0, 2)) == []


def test_that_further_times_and_depths_are_named(tmp_path):
    stored = np.zeros((2, 3, HEIGHT, WIDTH), np.uint8)
    tifffile.imwrite(tmp_path / "a.ome.tif", stored, metadata={"axes": "TZYX"}, photometric="minisblack")
    with open_large(tmp_path / "a.ome.tif") as found:
        assert found.notes == ("It has 2 times and 3 depths; the first was opened.",)


def test_that_an_ome_tiff_of_more_planes_than_any_is_refused_before_they_are_listed(tmp_path):
    tifffile.imwrite(tmp_path / "a.ome.tif", np.zeros((3, 8, 8), np.uint8), metadata={"axes": "TYX"})
    with tifffile.TiffFile(tmp_path / "a.ome.tif", mode="r+") as tiff:
        description = tiff.pages[0].tags[270]
        description.overwrite(description.value.replace('SizeT="3"', 'SizeT="3000000000"'))
    assert "names 3,000,000,000 planes" in refusal(tmp_path / "a.ome.tif")


def test_that_an_npy_is_read_in_parts(tmp_path):
    for dtype in ["u1", ">u2", "<f4", "f8", "?"]:
        stored = pixels("float32", 2).astype(dtype)
        np.save(tmp_path / "a.npy", stored)
        wanted = stored.astype("u1") * 255 if dtype == "?" else stored.astype({"f8": "f4"}.get(dtype, dtype))
        assert parts_differ(tmp_path / "a.npy", wanted) == []


def store(path, stored, axes, chunks, version, **settings):
    group = zarr.create_group(str(path), zarr_format=version)
    array = group.create_array("0", shape=stored.shape, chunks=chunks, dtype=stored.dtype, **settings)
    array[...] = stored
    multiscales = [{"axes": [{"name": axis} for axis in axes], "datasets": [{"path": "0"}]}]
    group.attrs.update(
        {"multiscales": multiscales} if version == 2 else {"ome": {"multiscales": multiscales}}
    )


AXES = [("yx", (HEIGHT, WIDTH)), ("cyx", (3, HEIGHT, WIDTH)), ("tczyx", (2, 3, 2, HEIGHT, WIDTH))]
IN_CHUNKS = [
    ("cyx", (8, HEIGHT, WIDTH), (8, 32, 48)), ("yxc", (HEIGHT, WIDTH, 3), (32, 48, 3)),
    ("yxc", (HEIGHT, WIDTH, 4), (32, 48, 3)), ("cyx", (3, HEIGHT, WIDTH), (2, 32, 48)),
    ("tcyx", (3, 2, HEIGHT, WIDTH), (2, 2, 32, 48)), ("xy", (WIDTH, HEIGHT), (48, 32)),
]  # fmt: skip


@pytest.mark.slow
def test_that_an_ome_zarr_is_read_in_parts_however_channels_lie_in_chunks(tmp_path):
    layouts = [(axes, shape, (*(1,) * (len(shape) - 2), 32, 48), n) for axes, shape in AXES for n in (2, 3)]
    for number, (axes, shape, chunks, version) in enumerate(layouts + [(*one, 3) for one in IN_CHUNKS]):
        path, stored = tmp_path / str(number), np.random.default_rng(2).integers(1, 60_000, shape, np.uint16)
        store(path, stored, axes, chunks, version)
        # Of times and depths the first, and so of more than four channels.
        first = stored[tuple(0 if axis in "tz" else slice(None) for axis in axes)]
        left = [axis for axis in axes if axis not in "tz"]
        wanted = first.transpose([left.index(axis) for axis in "yxc" if axis in left])
        assert parts_differ(path, wanted[..., :1] if 8 in shape else wanted) == [], axes


def blosc(**config):
    return {"name": "blosc", "configuration": {"typesize": 2, "blocksize": 0, "clevel": 5, **config}}


def transposed(*order):
    return [{"name": "transpose", "configuration": {"order": order}}]


LAYOUTS_OF_ZARR = {
    2: [
        *({"compressors": {"id": name, "level": 1}} for name in ("zlib", "gzip", "zstd")),
        {"compressors": {"id": "blosc", "cname": "zlib", "clevel": 1, "shuffle": 2}},
        {"compressors": None},
        {"order": "F"},
        {"dtype": ">u2"},
    ],
    3: [
        {"compressors": None},
        *({"compressors": {"name": one, "configuration": {"level": 1}}} for one in ("zstd", "gzip")),
        {"compressors": blosc(cname="lz4", shuffle="bitshuffle")},
        {"compressors": blosc(cname="zstd", shuffle="shuffle")},
        {"compressors": [blosc(cname="lz4", shuffle="shuffle"), {"name": "crc32c"}]},
        {"filters": transposed(1, 0)},
        {"serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
        {"shards": (32, 96)},
        {"shards": (32, 96), "config": {"write_empty_chunks": False}},
        {"chunk_key_encoding": {"name": "v2", "separator": "."}},
    ],
}


@pytest.mark.slow
def test_that_what_the_package_zarr_writes_is_read(tmp_path):
    layouts = [one | {"zarr_format": n} for n, ones in LAYOUTS_OF_ZARR.items() for one in ones]
    for number, layout in enumerate(layouts):
        wanted, settings = pixels("uint16", 1)[..., 0], {"dtype": "<u2", "fill_value": 0} | layout
        wanted[:16, :48] = 0
        path = tmp_path / str(number)
        zarr.create_array(str(path), shape=wanted.shape, chunks=(16, 48), **settings)[...] = wanted
        assert parts_differ(path, wanted) == [], layout


def test_that_a_plain_zarr_array_is_read_in_parts(tmp_path):
    stored, path = pixels("uint16"), tmp_path / "a.zarr"
    zarr.create_array(str(path), shape=stored.shape, chunks=(32, 48, 3), dtype="u2")[...] = stored
    assert parts_differ(path, stored) == []


def test_that_a_missing_chunk_is_named_where_it_is_read_and_refused_without_a_fill_value(tmp_path):
    path, metadata = tmp_path / "a.zarr", tmp_path / "a.zarr" / "0" / ".zarray"
    store(path, pixels("uint16", 1)[..., 0] + np.uint16(1), "yx", (32, 48), 2)
    (path / "0" / "1.0").unlink()
    with open_large(path) as found:
        found.read(0, slice(0, HEIGHT), slice(0, WIDTH))
        assert found.notes == ("1 of the chunks that were read are not stored and are the fill value.",)
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | {"fill_value": None}))
    assert "chunk 1.0 is missing" in refusal(path)


def refusal(path):
    with pytest.raises(ImageReadError) as found, open_large(path) as opened:
        opened.read(0, slice(0, opened.height), slice(0, opened.width))
    return str(found.value)


def test_that_a_damaged_store_is_refused(tmp_path):
    for version, name in [(2, ".zarray"), (3, "zarr.json")]:
        path = tmp_path / f"{version}.zarr"
        store(path, pixels("uint16", 1)[..., 0], "yx", (32, 48), version)
        chunk, metadata = path / "0" / ("0.1" if version == 2 else "c/0/1"), path / "0" / name
        chunk.write_bytes(b"\x02\x01" + bytes(range(60)))
        assert f"{version}.zarr cannot be read" in refusal(path)
        document = json.loads(metadata.read_text())
        if version == 2:
            document["compressor"] = {"id": "secret"}
        else:
            document["codecs"][-1] = {"name": "secret", "configuration": {}}
        metadata.write_text(json.dumps(document))
        assert "a codec that it needs is not there" in refusal(path)
        shutil.rmtree(path / "0")
        assert "its level '0' is missing" in refusal(path)
    zarr.create_group(str(tmp_path / "a.zarr")).create_array("cells", shape=(3, 3), dtype="u1")
    assert "it is a group of arrays and no OME-Zarr: it names no multiscales" in refusal(tmp_path / "a.zarr")


def test_that_an_array_that_is_no_picture_or_ends_early_is_refused(tmp_path):
    for array, says in [
        (np.asfortranarray(np.zeros((4, 5), np.uint8)), "column by column (Fortran order)"),
        (np.zeros((4, 5), np.complex64), "its values are complex64"),
        (np.zeros(4, np.uint8), "its shape is (4,)"),
        (np.zeros((4, 5, 7), np.uint8), "its shape is (4, 5, 7)"),
        (np.zeros((0, 5), np.uint8), "has no pixel"),
        (np.array([[None]]), "Python objects"),
    ]:
        np.save(tmp_path / "a.npy", array, allow_pickle=True)
        assert says in refusal(tmp_path / "a.npy")
    for size in [7, 60, 128, 5000]:
        np.save(tmp_path / "a.npy", pixels())
        (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:size])
        assert "cut short" in refusal(tmp_path / "a.npy")


def test_that_a_tiff_that_ends_early_or_has_a_segment_without_bytes_is_refused(tmp_path):
    path = tmp_path / "a.tif"
    for settings in ({}, {"tile": (32, 48)}, {"compression": "zlib", "rowsperstrip": 9}):
        tifffile.imwrite(path, pixels(), photometric="rgb", metadata=None, **settings)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) * 2 // 3])
        assert "cut short" in refusal(path)
        path.write_bytes(data)
        with tifffile.TiffFile(path, mode="r+") as tiff:
            page = tiff.pages.first
            name = "TileByteCounts" if page.is_tiled else "StripByteCounts"
            page.tags[name].overwrite([0, *page.databytecounts[1:]])
        assert "zero bytes" in refusal(path)


def test_that_a_turned_tiff_and_what_is_no_such_file_are_refused(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", pixels(), photometric="rgb", extratags=[(274, 3, 1, 6, True)])
    assert "orientation 6" in refusal(tmp_path / "a.tif")
    (tmp_path / "letter.txt").write_text("dear")
    for name in ("nothing.tif", ".", "letter.txt"):
        assert "cannot be opened" in refusal(tmp_path / name)
