"""Zarr stores made to take memory, to wait, or to show other files: refused in words, before any of that."""

import bz2
import gzip
import json
import lzma
import os
import struct
import zlib

import imagecodecs
import numpy as np
import pytest

from engine.errors import ImageReadError
from engine.image.large.opening import open_large
from tests.fresh_python import fresh_python

ZEROS = bytes(64 << 20)
BOMB = imagecodecs.zstd_encode(ZEROS)
INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


def array_3(path, chunk=None, **changes):
    (path / "c" / "0").mkdir(parents=True)
    grid = {"name": "regular", "configuration": {"chunk_shape": changes.pop("chunks", [8, 8])}}
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [8, 8], "data_type": "uint8", "chunk_grid": grid,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0,
        "codecs": [{"name": "bytes"}], "attributes": {},
    }  # fmt: skip
    (path / "zarr.json").write_text(json.dumps(document | changes))
    if chunk is not None:
        (path / "c" / "0" / "0").write_bytes(chunk)
    return path


def array_2(path, chunk=None, **changes):
    path.mkdir(parents=True)
    document = {
        "zarr_format": 2, "shape": [8, 8], "chunks": [8, 8], "dtype": "|u1", "fill_value": 0, "order": "C",
        "filters": None, "compressor": None,
    }  # fmt: skip
    (path / ".zarray").write_text(json.dumps(document | changes))
    if chunk is not None:
        (path / "0.0").write_bytes(chunk)
    return path


def packed(*names):
    return [{"name": "bytes"}, *({"name": name, "configuration": {}} for name in names)]


def ome(path, datasets, axes="yx"):
    path.mkdir()
    multiscales = [{"axes": list(axes), "datasets": datasets}]
    document = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": multiscales}}}
    (path / "zarr.json").write_text(json.dumps(document))
    return path


def level_with(path, make):
    """Make a store whose one chunk is not a file."""
    ome(path, [{"path": "0"}])
    array_3(path / "0")
    make(path / "0" / "c" / "0" / "0")
    return path


def pipe_of_metadata(document):
    document.unlink()
    os.mkfifo(document)


def shards(inner, sides=(8, 8)):
    config = {"chunk_shape": list(sides), "codecs": inner, "index_codecs": INDEX}
    return [{"name": "sharding_indexed", "configuration": config}]


def blosc_that_says(size):
    return struct.pack("<BBBBIII", 2, 1, 0x21, 1, size, size, 100) + bytes(84)


LZ4_BOMB = struct.pack("<I", 0x7FFFFFFF) + imagecodecs.lz4_encode(bytes(1000))
HUGE = (2**31 + 1, 2**62, 10**300, 0, -8, 8.5, "8", None, True)
STORES = {
    "zstd": lambda p: array_3(p, BOMB, codecs=packed("zstd")),
    "zstd twice": lambda p: array_3(p, imagecodecs.zstd_encode(BOMB), codecs=packed("zstd", "zstd")),
    "gzip": lambda p: array_3(p, gzip.compress(ZEROS, 1), codecs=packed("gzip")),
    "gzip of many members": lambda p: array_3(p, gzip.compress(bytes(60)) * 1000, codecs=packed("gzip")),
    "zlib": lambda p: array_2(p, zlib.compress(ZEROS, 1), compressor={"id": "zlib"}),
    "bz2": lambda p: array_2(p, bz2.compress(ZEROS[:1000]), compressor={"id": "bz2"}),
    "lzma": lambda p: array_2(p, lzma.compress(ZEROS[:1000]), compressor={"id": "lzma"}),
    "lz4": lambda p: array_2(p, LZ4_BOMB, compressor={"id": "lz4"}),
    "blosc": lambda p: array_2(p, blosc_that_says(0x7FFFFF00), compressor={"id": "blosc"}),
    "blosc of less": lambda p: array_2(p, blosc_that_says(64), compressor={"id": "blosc"}),
    "a chunk beside a small picture": lambda p: array_3(
        p, BOMB, codecs=packed("zstd"), chunks=[40_000, 40_000]
    ),
    "a large chunk": lambda p: array_3(p, shape=[2**20, 2**20], chunks=[2**20, 2**20]),
    "many chunks": lambda p: array_3(p, shape=[30_000, 30_000], chunks=[1, 1]),
    "codecs": lambda p: array_3(p, bytes(64), codecs=packed(*["gzip"] * 20_000)),
    "nested shards": lambda p: array_3(p, bytes(200), codecs=shards(shards(packed()))),
    "an index that points away": lambda p: array_3(
        p, struct.pack("<QQ", 2**63, 2**62), codecs=shards(packed())
    ),
    "a large index": lambda p: array_3(
        p, bytes(64), shape=[2**30, 2**30], chunks=[2**30, 2**30], codecs=shards(packed(), (1, 1))
    ),
    "a part of a shard": lambda p: array_3(p, bytes(64), codecs=shards(packed(), (3, 3))),
    "pickle": lambda p: array_2(p, bytes(64), compressor={"id": "pickle"}),
    "a pickle filter": lambda p: array_2(p, bytes(64), filters=[{"id": "pickle"}]),
    "objects": lambda p: array_2(p, bytes(64), dtype="|O", filters=[{"id": "pickle"}]),
    "objects in 3": lambda p: array_3(p, bytes(64), data_type={"name": "numpy.object"}),
    "too short": lambda p: array_3(p, bytes(10)),
    "too long": lambda p: array_3(p, bytes(100)),
    "no fill value": lambda p: array_3(p, fill_value=None),
    "a fill value out of range": lambda p: array_3(p, fill_value=999),
    "nested": lambda p: array_3(p) / "zarr.json",
    "large metadata": lambda p: array_3(p, attributes={"a": "x" * (17 << 20)}),
    "names of keys": lambda p: array_3(
        p, chunk_key_encoding={"name": "default", "configuration": {"separator": "../"}}
    ),
    "100,000 levels": lambda p: ome(p, [{"path": "0"}] * 100_000),
    "no level": lambda p: ome(p, []),
    "a million axes": lambda p: ome(p, [{"path": "0"}], "y" * 1_000_000),
    "a level elsewhere": lambda p: ome(p, [{"path": str(array_3(p.parent / "other"))}]),
    "a level above": lambda p: ome(p, [{"path": f"../{array_3(p.parent / 'other').name}"}]),
    "a long name": lambda p: ome(p, [{"path": "a" * 5000}]),
    "a zero in a name": lambda p: ome(p, [{"path": "a\0b"}]),
    "a link out of it": lambda p: level_with(p, lambda chunk: chunk.symlink_to("/etc/hostname")),
    "a device": lambda p: level_with(p, lambda chunk: chunk.symlink_to("/dev/zero")),
    "a pipe": lambda p: level_with(p, os.mkfifo),
    "a folder": lambda p: level_with(p, lambda chunk: chunk.mkdir()),
    "a pipe of metadata": lambda p: pipe_of_metadata(level_with(p, lambda chunk: None) / "0" / "zarr.json"),
    **{f"a shape of {n!r:.12}": lambda p, n=n: array_3(p, shape=[n, 8]) for n in HUGE},
    **{f"chunks of {n!r:.12}": lambda p, n=n: array_3(p, chunks=[n, 8]) for n in HUGE},
    **{f"a shape of {n!r:.12} in 2": lambda p, n=n: array_2(p, shape=[8, n]) for n in HUGE},
}


def read_whole(path):
    with open_large(path) as found:
        return found.read(0, slice(0, min(found.height, 8)), slice(0, min(found.width, 8)))


@pytest.mark.slow
def test_that_a_hostile_store_is_refused_in_words(tmp_path):
    for number, (what, write) in enumerate(STORES.items()):
        path = tmp_path / str(number) / "a.zarr"
        path.parent.mkdir()
        write(path)
        if what == "nested":
            (path / "zarr.json").write_text("[" * 200_000 + "]" * 200_000)
        with pytest.raises(ImageReadError) as caught:
            read_whole(path)
        assert caught.value.remedy
        assert len(str(caught.value)) < 1000


@pytest.mark.slow
def test_that_a_bomb_takes_no_memory(tmp_path):
    bombs = ["zstd", "gzip", "lz4", "blosc", "many chunks", "a chunk beside a small picture"]
    for what in bombs:
        STORES[what](tmp_path / what)
    code = """
import resource, sys
import engine.image.large.zarr_store
from engine.errors import ImageReadError
from engine.image.large.opening import open_large
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
for path in sys.argv[1:]:
    try:
        with open_large(path) as found:
            found.read(0, slice(0, 8), slice(0, 8))
    except ImageReadError:
        print(peak() - before)
"""
    peaks = list(map(int, fresh_python("-c", code, *(str(tmp_path / what) for what in bombs)).split()))
    assert len(peaks) == len(bombs)
    assert max(peaks) < 20_000, dict(zip(bombs, peaks, strict=True))


def test_that_a_link_within_a_store_is_followed(tmp_path):
    path = array_3(tmp_path / "a.zarr")
    (path / "c" / "0" / "other").write_bytes(bytes(range(64)))
    (path / "c" / "0" / "0").symlink_to("other")
    assert np.array_equal(read_whole(path)[..., 0], np.arange(64, dtype=np.uint8).reshape(8, 8))
