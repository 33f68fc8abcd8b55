"""The files of a Zarr store: metadata, and chunks one by one. Nothing outside of it is read.

Where a folder comes from somebody else, each of its files may be a pipe, a device, or a link to anywhere, and
each number of its metadata anything. No package reads it: that would follow all of them. A chunk says how
large it is only to the one who decodes it, and 48 kB can be 1.5 GB of zeros: so each decoder gets the most
bytes that may come of it. A codec that is not listed here is not read; none executes anything.
"""

import bz2
import lzma
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np

from engine.errors import FileReadError
from engine.files.reading import Json, json_object, open_file, text_of_bytes, why_unreadable
from engine.image.faults import Refused
from engine.image.form import DEFAULT_MAX_BYTES, bytes_text

_MOST_CODECS = 16
_LZMA_BYTES = 256 << 20
_DAMAGED_CHUNK = "one of its chunks is damaged"

# Errors of imagecodecs are RuntimeErrors.
_FAULTS = EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError, lzma.LZMAError

Data = bytes | bytearray
Config = Mapping[str, Any]


def _blosc(data: Data, most: int, _: Config) -> Data:
    _refuse_more(int.from_bytes(data[4:8], "little"), most)
    return imagecodecs.blosc_decode(data, out=int.from_bytes(data[4:8], "little"))


def _lz4(data: Data, most: int, _: Config) -> Data:
    _refuse_more(size := int.from_bytes(data[:4], "little"), most)
    return imagecodecs.lz4_decode(data[4:], out=size)


def _shuffle(data: Data, _: int, config: Config) -> Data:
    size = _whole(config.get("elementsize", 4))
    if len(data) % size:
        raise Refused(_DAMAGED_CHUNK)
    return np.frombuffer(data, np.uint8).reshape(size, -1).T.tobytes()


def _delta(data: Data, _: int, config: Config) -> Data:
    dtype = np.dtype(str(config.get("dtype")))
    if dtype.kind not in "iuf" or np.dtype(str(config.get("astype", dtype.str))) != dtype:
        raise Refused("its codec delta changes the type of its values", _SAVE)
    return np.cumsum(np.frombuffer(data, dtype), dtype=dtype).tobytes()


def _crc32c(data: Data, _: int, __: Config) -> Data:
    body = bytes(data[:-4])
    try:
        checksum: int = import_module("google_crc32c").value(body)
    except ModuleNotFoundError as error:
        why = "its chunks have checksums, and the package google-crc32c is not installed"
        raise Refused(why, "Install it with pip install 'haloscope[zarr]'.") from error
    if checksum.to_bytes(4, "little") != bytes(data[-4:]):
        raise Refused(f"{_DAMAGED_CHUNK}: its checksum is another one")
    return body


_DECODERS: dict[str, Callable[[Data, int, Config], Data]] = {
    "blosc": _blosc,
    "bz2": lambda data, most, _: bz2.BZ2Decompressor().decompress(data, most + 1),
    "crc32c": _crc32c,
    "delta": _delta,
    "gzip": lambda data, most, _: imagecodecs.gzip_decode(data, out=most),
    "lz4": _lz4,
    "lzma": lambda data, most, _: lzma.LZMADecompressor(memlimit=_LZMA_BYTES).decompress(data, most + 1),
    "shuffle": _shuffle,
    "zlib": lambda data, most, _: imagecodecs.zlib_decode(data, out=most),
    "zstd": lambda data, most, _: imagecodecs.zstd_decode(data, out=most),
}
_SAVE = f"Save it with one of the codecs {', '.join(_DECODERS)}."


@dataclass(frozen=True, slots=True)
class Codecs:
    """How a chunk is stored: the order of its axes, the type of its values, and what packs their bytes."""

    axes: tuple[int, ...]
    dtype: np.dtype
    packed: tuple[tuple[str, Config], ...]

    def stored_bytes(self, shape: Sequence[int]) -> int:
        """Return the most bytes that a chunk may have in its file, or between two codecs."""
        return 2 * self.decoded_bytes(shape) + 65536

    def decoded_bytes(self, shape: Sequence[int]) -> int:
        """Return the bytes of a chunk's values."""
        return math.prod(shape) * self.dtype.itemsize

    def decoded(self, data: Data, shape: Sequence[int]) -> np.ndarray:
        """Return the values of a chunk; Refused, or what a library raises, where it is damaged."""
        size = self.decoded_bytes(shape)
        for number, (name, config) in reversed(list(enumerate(self.packed))):
            most = size if number == 0 else self.stored_bytes(shape)
            try:
                data = _DECODERS[name](data, most, config)
            except _FAULTS as error:
                why = f"{_DAMAGED_CHUNK}: {name} cannot unpack it to the {most:,} bytes that it may have"
                raise Refused(why) from error
            _refuse_more(len(data), self.stored_bytes(shape))
        if len(data) != size:
            raise Refused(f"{_DAMAGED_CHUNK}: it has {len(data):,} bytes, and its shape takes {size:,}")
        stored = np.frombuffer(data, self.dtype).reshape([shape[axis] for axis in self.axes])
        return stored.transpose(np.argsort(self.axes))


def codecs_of_2(document: Mapping[str, Any], dtype: np.dtype, axes: int) -> Codecs:
    """Return what the metadata of a Zarr 2 array says of its chunks."""
    packed = [
        *(document.get("filters") or []),
        *([document["compressor"]] if document.get("compressor") else []),
    ]
    order = document.get("order", "C")
    if order not in ("C", "F"):
        raise ValueError("order")
    forward = tuple(range(axes))
    return Codecs(forward if order == "C" else forward[::-1], dtype, _packed(packed, "id"))


def codecs_of_3(codecs: Any, dtype: np.dtype, axes: int) -> Codecs:
    """Return what the metadata of a Zarr 3 array, or of its shards, says of chunks."""
    names = [_name(codec, "name") for codec in _listed(codecs)]
    order = tuple(range(axes))
    if "bytes" not in names:
        unknown = next((name for name in names if name not in _DECODERS), "bytes")
        raise Refused(f"a codec that it needs is not there ({unknown[:40]})", _SAVE)
    at = names.index("bytes")
    for name, codec in zip(names[:at], codecs, strict=False):
        if name != "transpose" or at > 1:
            raise Refused(f"a codec that it needs is not there ({name[:40]})", _SAVE)
        order = tuple(map(int, codec["configuration"]["order"]))
        if sorted(order) != list(range(axes)):
            raise ValueError("transpose")
    endian = (codecs[at].get("configuration") or {}).get("endian", "little")
    if endian not in ("little", "big"):
        raise ValueError("endian")
    stored = dtype.newbyteorder("<" if endian == "little" else ">")
    return Codecs(order, stored, _packed(codecs[at + 1 :], "name"))


def _packed(codecs: object, key: str) -> tuple[tuple[str, Config], ...]:
    found = []
    for codec in _listed(codecs):
        name = _name(codec, key).removeprefix("numcodecs.")
        if name not in _DECODERS:
            raise Refused(f"a codec that it needs is not there ({name[:40]})", _SAVE)
        found.append((name, codec if key == "id" else codec.get("configuration") or {}))
    return tuple(found)


def _listed(codecs: object) -> list[Any]:
    if not isinstance(codecs, list):
        raise TypeError("codecs")
    if len(codecs) > _MOST_CODECS:
        raise Refused(f"its chunks have {len(codecs):,} codecs, and at most {_MOST_CODECS} are read", _SAVE)
    return codecs


def _name(codec: Any, key: str) -> str:
    # Zarr 3 takes a name alone for one without a configuration.
    name = codec if isinstance(codec, str) else codec[key]
    if not isinstance(name, str) or not isinstance(codec, dict):
        raise TypeError("codec")
    return name


def _whole(value: object) -> int:
    if type(value) is not int or not 1 <= value <= 1 << 20:
        raise Refused("a number of its codecs is out of range")
    return value


def _refuse_more(size: int, most: int) -> None:
    if size > most:
        raise Refused(f"{_DAMAGED_CHUNK}: it unpacks to more than the {most:,} bytes of its shape")


AGAIN = "Get the store again, as a whole."
_DAMAGED = "its Zarr metadata is missing or damaged"
_MOST_METADATA_BYTES = 16 << 20
# Of each axis, so that numbers of pixels and bytes stay whole numbers of 64 bits.
_MOST_SIDE = 1 << 31
_MOST_AXES = 8
# A chunk may be larger than its picture; of more bytes than these only by so much.
_LARGE_CHUNK_BYTES, _MOST_TIMES_LARGER = 64 << 20, 4
# Each chunk is a file, and an entry of a list while it is waited for.
_MANY_CHUNKS, _SMALL_CHUNK_BYTES = 65536, 1024
_TYPES = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
}  # fmt: skip
_NOWHERE = (1 << 64) - 1
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class StoreFiles:
    """Reads files of a store by their keys: regular ones, that lie in it, of limited size."""

    def __init__(self, path: Path) -> None:
        self._root = os.path.realpath(path)

    def read(self, key: str, most_bytes: int, begin: int | None = None, count: int = 0) -> bytes | None:
        """Return what a file holds, or bytes of it from `begin` (negative: from its end); None without it."""
        place = os.path.realpath(os.path.join(self._root, key))
        if not place.startswith(self._root + os.sep):
            raise Refused(f"its file {key[:60]!r} lies outside of the store", "Get the store as one folder.")
        try:
            file = open_file(place)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            why = why_unreadable(error)[0]
            raise Refused(f"its file {key[:60]!r} cannot be read: {why}", AGAIN) from error
        with file:
            size = os.fstat(file.fileno()).st_size
            if begin is None:
                if size > most_bytes:
                    why = (
                        f"its file {key[:60]!r} has {bytes_text(size)}, and at most {bytes_text(most_bytes)}"
                    )
                    raise Refused(f"{why} belong into it", AGAIN)
                return file.read(most_bytes)
            first = size + begin if begin < 0 else begin
            if count > most_bytes or first < 0 or first + count > size:
                raise Refused(f"its file {key[:60]!r} names bytes that it does not have", AGAIN)
            file.seek(first)
            return file.read(count)

    def document(self, key: str) -> Json | None:
        """Return a document of metadata; None without it. It may have NaN, which other programs write."""
        data = self.read(key, _MOST_METADATA_BYTES)
        if data is None:
            return None
        try:
            return json_object(text_of_bytes(data, key), key, is_strict=False)
        except FileReadError as error:
            raise Refused(f"{_DAMAGED} ({key[:60]}: {error.why})", AGAIN) from error


@dataclass(frozen=True, slots=True)
class Shards:
    """Files of several chunks each: their sides, where their index is, and the index's checksum."""

    sides: tuple[int, ...]
    is_index_first: bool
    has_checksum: bool


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array of a store."""

    files: StoreFiles
    folder: str
    zarr_format: int
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype
    fill_value: Any
    codecs: Codecs
    shards: Shards | None
    key_prefix: str
    separator: str
    names: tuple[str, ...]
    # Packing as the writer takes it.
    compressors: tuple[Json, ...]

    def key(self, place: Sequence[int]) -> str:
        """Return the name of the file of a chunk, or of its shard, below the folder of the array."""
        sides = self.shards.sides if self.shards else self.chunks
        stored = [at * chunk // side for at, chunk, side in zip(place, self.chunks, sides, strict=True)]
        return self.key_prefix + self.separator.join(map(str, stored))

    def is_stored(self, place: Sequence[int]) -> bool:
        """Return whether the file is there that a chunk should be in."""
        return self.files.read(f"{self.folder}{self.key(place)}", 0, 0) is not None

    def chunk(self, place: Sequence[int]) -> np.ndarray | None:
        """Return the values of a chunk; None where it is not stored."""
        key, most = f"{self.folder}{self.key(place)}", self.codecs.stored_bytes(self.chunks)
        if self.shards is None:
            data = self.files.read(key, most)
        else:
            data = self._of_shard(self.shards, key, place, most)
        return None if data is None else self.codecs.decoded(data, self.chunks)

    def _of_shard(self, shards: Shards, key: str, place: Sequence[int], most: int) -> bytes | None:
        counts = [side // chunk for side, chunk in zip(shards.sides, self.chunks, strict=True)]
        size = 16 * math.prod(counts)
        count = size + (4 if shards.has_checksum else 0)
        index = self.files.read(key, count, 0 if shards.is_index_first else -count, count)
        if index is None:
            return None
        within = np.ravel_multi_index([at % n for at, n in zip(place, counts, strict=True)], counts)
        plain = Codecs((0,), np.dtype("<u8"), (("crc32c", {}),) if shards.has_checksum else ())
        begin, length = map(int, plain.decoded(index, (size // 8,))[2 * within : 2 * within + 2])
        if begin == length == _NOWHERE:
            return None
        return self.files.read(key, most, begin, length)


def array_in(files: StoreFiles, folder: str) -> StoredArray | None:
    """Return the array of a folder of the store ("" or "0/"); None where there is none."""
    document = files.document(f"{folder}zarr.json")
    if document is not None:
        return _array_3(files, folder, document) if document.get("node_type") == "array" else None
    document = files.document(f"{folder}.zarray")
    return None if document is None else _array_2(files, folder, document)


def attributes_in(files: StoreFiles, folder: str) -> Json | None:
    """Return the attributes of a group; None where there is none."""
    document = files.document(f"{folder}zarr.json")
    if document is not None:
        return dict(document.get("attributes") or {}) if document.get("node_type") == "group" else None
    if files.document(f"{folder}.zgroup") is None:
        return None
    return files.document(f"{folder}.zattrs") or {}


def _array_2(files: StoreFiles, folder: str, document: Json) -> StoredArray:
    text = document["dtype"]
    if not isinstance(text, str) or not re.fullmatch(r"[<>|=][a-zA-Z][0-9]{0,4}", text):
        raise Refused(f"its values are {str(text)[:40]}; a picture has uint8, uint16 or float32")
    dtype, shape = np.dtype(text), _sides(document["shape"])
    if dtype.kind not in "buifc":
        raise Refused(f"its values are {text}; a picture has uint8, uint16 or float32")
    separator = document.get("dimension_separator", ".")
    codecs = codecs_of_2(document, dtype, len(shape))
    compressor = document.get("compressor")
    return _checked(StoredArray(
        files, folder, 2, shape, _sides(document["chunks"]), dtype,
        _fill_value(document.get("fill_value"), dtype), codecs, None, "", separator, (),
        (compressor,) if compressor else (),
    ))  # fmt: skip


def _array_3(files: StoreFiles, folder: str, document: Json) -> StoredArray:
    name = document["data_type"]
    if not isinstance(name, str) or name not in _TYPES:
        raise Refused(f"its values are {str(name)[:40]}; a picture has uint8, uint16 or float32")
    dtype, shape = np.dtype(name), _sides(document["shape"])
    grid, keys = document["chunk_grid"], document["chunk_key_encoding"]
    if grid["name"] != "regular" or document.get("storage_transformers"):
        raise Refused("its chunks have different sizes, or are stored in a way that is not read")
    is_default = {"default": True, "v2": False}[keys["name"]]
    separator = (keys.get("configuration") or {}).get("separator", "/" if is_default else ".")
    chunks, codecs, shards = _sides(grid["configuration"]["chunk_shape"]), document["codecs"], None
    if isinstance(codecs, list) and len(codecs) == 1 and codecs[0]["name"] == "sharding_indexed":
        shards, config = _shards(codecs[0]["configuration"], chunks)
        chunks, codecs = _sides(config["chunk_shape"]), config["codecs"]
    names = tuple(str(name).lower() for name in document.get("dimension_names") or ())
    found = codecs_of_3(codecs, dtype, len(shape))
    packed = tuple(codecs[len(codecs) - len(found.packed) :])
    return _checked(StoredArray(
        files, folder, 3, shape, chunks, dtype, _fill_value(document["fill_value"], dtype), found, shards,
        f"c{separator}" if is_default else "", separator, names, packed,
    ))  # fmt: skip


def _shards(config: Json, sides: tuple[int, ...]) -> tuple[Shards, Json]:
    index = [codec["name"] for codec in config["index_codecs"]]
    place = config.get("index_location", "end")
    if index not in (["bytes"], ["bytes", "crc32c"]) or place not in ("start", "end"):
        raise Refused("the index of its shards is stored in a way that is not read")
    chunks = _sides(config["chunk_shape"])
    if len(chunks) != len(sides) or any(side % chunk for side, chunk in zip(sides, chunks, strict=True)):
        raise Refused("its shards are no whole numbers of chunks", AGAIN)
    return Shards(sides, place == "start", len(index) > 1), config


def _checked(array: StoredArray) -> StoredArray:
    """Refuse an array whose numbers cannot be those of a picture, before anything is made of them."""
    if len(array.chunks) != len(array.shape) or array.separator not in ("/", "."):
        raise Refused(_DAMAGED, AGAIN)
    size = array.codecs.decoded_bytes(array.chunks)
    whole = array.codecs.decoded_bytes(array.shape)
    index = 16 * math.prod(array.shards.sides) // math.prod(array.chunks) if array.shards else 0
    if size > DEFAULT_MAX_BYTES or index > _LARGE_CHUNK_BYTES:
        raise Refused(
            f"each of its chunks takes {bytes_text(max(size, index))}", "Save it in smaller chunks."
        )
    if size > _LARGE_CHUNK_BYTES and size > _MOST_TIMES_LARGER * whole:
        raise Refused(f"a chunk takes {bytes_text(size)}, and all of it {bytes_text(whole)}", AGAIN)
    count = math.prod(-(-side // chunk) for side, chunk in zip(array.shape, array.chunks, strict=True))
    if count > _MANY_CHUNKS and size < _SMALL_CHUNK_BYTES:
        raise Refused(f"it is stored in {count:,} chunks of {bytes_text(size)}", "Save it in larger chunks.")
    return array


def _sides(values: object) -> tuple[int, ...]:
    if not isinstance(values, list) or not 1 <= len(values) <= _MOST_AXES:
        raise Refused(_DAMAGED, AGAIN)
    if all(type(side) is int and side >= 0 for side in values) and 0 in values:
        raise Refused(f"an array of shape {tuple(values)} has no pixel"[:200], "Save one that has.")
    if not all(type(side) is int and 1 <= side <= _MOST_SIDE for side in values):
        raise Refused("a side of its arrays or chunks is no whole number from 1 to 2³¹", AGAIN)
    return tuple(values)


def _fill_value(value: object, dtype: np.dtype) -> Any:
    if value is None:
        return None
    if isinstance(value, str) and value.startswith("0x") and dtype.kind == "f":
        return np.frombuffer(int(value, 16).to_bytes(dtype.itemsize, "big"), dtype.newbyteorder(">"))[0]
    number = _NOT_FINITE[value] if isinstance(value, str) else value
    if isinstance(number, list) or (dtype.kind != "f" and dtype.type(number) != number):
        raise ValueError("fill_value")
    return dtype.type(number)
