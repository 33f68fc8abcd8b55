"""The files of a Zarr store: metadata, and chunks one by one. Nothing outside of it is read.

Where a folder comes from somebody else, each of its files may be a pipe, a device, or a link to anywhere, and
each number of its metadata anything. No package reads it: that would follow all of them. A chunk says how
large it is only to the one who decodes it, and 48 kB can be 1.5 GB of zeros: so each decoder gets the most
bytes that may come of it. A codec that is not listed here is not read; none executes anything.
"""

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import imagecodecs
import numpy as np
from msgspec import Meta, Struct, convert

from engine.errors import FileReadError
from engine.files.reading import Json, json_object, open_file, text_of_bytes, why_unreadable
from engine.image.faults import Refused
from engine.image.format import DEFAULT_MAX_BYTES
from engine.process import bytes_text

_DAMAGED_CHUNK = "one of its chunks is damaged"

# Errors of imagecodecs are RuntimeErrors.
_FAULTS = EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError

Data = bytes | bytearray
_CODECS = ("blosc", "crc32c", "gzip", "zlib", "zstd")
_SAVE = f"Save it with one of the codecs {', '.join(_CODECS)}."


def _unpacked(data: Data, codec: str, most: int) -> Data:
    if codec != "crc32c":
        unpacked: Data = getattr(imagecodecs, f"{codec}_decode")(data, out=most)
        return unpacked
    body = bytes(data[:-4])
    try:
        checksum: int = import_module("google_crc32c").value(body)
    except ModuleNotFoundError as error:
        why = "its chunks have checksums, and the package google-crc32c is not installed"
        raise Refused(why, "Install it with pip install 'haloscope[zarr]'.") from error
    if checksum.to_bytes(4, "little") != bytes(data[-4:]):
        raise Refused(f"{_DAMAGED_CHUNK}: its checksum is another one")
    return body


@dataclass(frozen=True, slots=True)
class Codecs:
    """How a chunk is stored: the order of its axes, the type of its values, and what packs their bytes."""

    axes: tuple[int, ...]
    dtype: np.dtype
    packed: tuple[str, ...]

    def stored_bytes(self, shape: Sequence[int]) -> int:
        """Return the most bytes that a chunk may have in its file, or between two codecs."""
        return 2 * self.decoded_bytes(shape) + 65536

    def decoded_bytes(self, shape: Sequence[int]) -> int:
        """Return the bytes of a chunk's values."""
        return math.prod(shape) * self.dtype.itemsize

    def decoded(self, data: Data, shape: Sequence[int]) -> np.ndarray:
        """Return the values of a chunk; Refused, or what a library raises, where it is damaged."""
        size = self.decoded_bytes(shape)
        for number, name in reversed(list(enumerate(self.packed))):
            most = size if number == 0 else self.stored_bytes(shape)
            try:
                data = _unpacked(data, name, most)
            except _FAULTS as error:
                why = f"{_DAMAGED_CHUNK}: {name} cannot unpack it to the {most:,} bytes that it may have"
                raise Refused(why) from error
            if len(data) > self.stored_bytes(shape):
                raise Refused(f"{_DAMAGED_CHUNK}: it unpacks to more than its shape takes")
        if len(data) != size:
            raise Refused(f"{_DAMAGED_CHUNK}: it has {len(data):,} bytes, and its shape takes {size:,}")
        stored = np.frombuffer(data, self.dtype).reshape([shape[axis] for axis in self.axes])
        return stored.transpose(np.argsort(self.axes))


class _NamedPart(Struct):
    """A part of the metadata of Zarr 3: a codec, a grid of chunks, or how their files are named."""

    name: str
    configuration: Json = {}


_ListOfCodecs = Annotated[list[_NamedPart], Meta(min_length=1, max_length=16)]
# Of at most 8 axes, so that numbers of pixels and bytes stay whole numbers of 64 bits.
_Sides = Annotated[tuple[Annotated[int, Meta(ge=0, le=1 << 31)], ...], Meta(min_length=1, max_length=8)]


def _codecs_of(named: list[_NamedPart], dtype: np.dtype, axes: int) -> Codecs:
    """Return what the metadata of an array, or of its shards, says of chunks."""
    order = list(range(axes))
    if named[0].name == "transpose":
        order, named = list(map(int, named[0].configuration["order"])), named[1:]
    first, *packed = (codec.name.removeprefix("numcodecs.") for codec in named)
    for codec, name in zip(named, (first, *packed), strict=True):
        if name not in (("bytes",) if codec is named[0] else _CODECS):
            raise Refused(f"a codec that it needs is not there ({codec.name[:40]})", _SAVE)
    endian = named[0].configuration.get("endian", "little")
    if sorted(order) != list(range(axes)) or endian not in ("little", "big"):
        raise ValueError(named)
    stored = dtype.newbyteorder("<" if endian == "little" else ">")
    return Codecs(tuple(order), stored, tuple(packed))


AGAIN = "Get the store again, as a whole."
_DAMAGED = "its Zarr metadata is missing or damaged"
_MOST_METADATA_BYTES = 16 << 20
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
                    why = f"has {bytes_text(size)}, and at most {bytes_text(most_bytes)} belong into it"
                    raise Refused(f"its file {key[:60]!r} {why}", AGAIN)
                return file.read(most_bytes)
            first = size + begin if begin < 0 else begin
            if count > most_bytes or first < 0 or first + count > size:
                raise Refused(f"its file {key[:60]!r} names bytes that it does not have", AGAIN)
            file.seek(first)
            return file.read(count)

    def document(self, key: str) -> Json | None:
        """Return a document of metadata; None without it. It may have NaN, which other programs write."""
        if (data := self.read(key, _MOST_METADATA_BYTES)) is None:
            return None
        try:
            return json_object(text_of_bytes(data, key), key, is_strict=False)
        except FileReadError as error:
            raise Refused(f"{_DAMAGED} ({key[:60]}: {error.why})", AGAIN) from error


class _Array(Struct, kw_only=True):
    """The metadata of an array, as of Zarr 3."""

    shape: _Sides
    data_type: Any
    chunk_grid: _NamedPart
    chunk_key_encoding: _NamedPart
    codecs: _ListOfCodecs
    fill_value: Any
    dimension_names: list[str | None] | None = None
    storage_transformers: list[object] = []


class _Shards(Struct):
    """How files of several chunks each are stored."""

    chunk_shape: _Sides
    codecs: _ListOfCodecs
    index_codecs: _ListOfCodecs
    index_location: Literal["start", "end"] = "end"


class _Array2(Struct, kw_only=True):
    """The metadata of an array, as of Zarr 2."""

    shape: _Sides
    chunks: _Sides
    dtype: Any
    fill_value: Any = None
    order: Literal["C", "F"] = "C"
    filters: list[Json] | None = None
    compressor: Json | None = None
    dimension_separator: str = "."

    def as_of_3(self) -> _Array:
        """Return it in the words of Zarr 3."""
        if not isinstance(self.dtype, str) or not re.fullmatch(r"[<>|=][a-zA-Z][0-9]{0,4}", self.dtype):
            raise Refused(_no_picture(self.dtype))
        packed = [*(self.filters or ()), *((self.compressor,) if self.compressor else ())]
        endian = "big" if self.dtype[0] == ">" else "little"
        transposed = [_NamedPart("transpose", {"order": range(len(self.shape))[::-1]})] * (self.order == "F")
        codecs = [_NamedPart("bytes", {"endian": endian}), *(_NamedPart(codec["id"]) for codec in packed)]
        return _Array(
            shape=self.shape,
            data_type=np.dtype(self.dtype).name,
            chunk_grid=_NamedPart("regular", {"chunk_shape": self.chunks}),
            chunk_key_encoding=_NamedPart("v2", {"separator": self.dimension_separator}),
            codecs=[*transposed, *codecs],
            fill_value=self.fill_value,
        )


def _no_picture(dtype: object) -> str:
    return f"its values are {str(dtype)[:40]}; a picture has uint8, uint16 or float32"


class StoredArray:
    """An array of a store, as its metadata say; Refused where their numbers cannot be those of a picture.

    Each of its files has so many rows, columns, ... as `stored` says: those of a chunk, or those of several
    (shards), which an `index` in it names.
    """

    def __init__(self, files: StoreFiles, folder: str, metadata: _Array, zarr_format: int) -> None:
        if str(metadata.data_type) not in _TYPES:
            raise Refused(_no_picture(metadata.data_type))
        if 0 in metadata.shape:
            raise Refused(f"an array of shape {metadata.shape} has no pixel"[:200], "Save one that has.")
        if metadata.chunk_grid.name != "regular" or metadata.storage_transformers:
            raise Refused("its chunks have different sizes, or are stored in a way that is not read")
        self._files, self._folder, self.zarr_format = files, folder, zarr_format
        self.shape, dtype, codecs = metadata.shape, np.dtype(metadata.data_type), metadata.codecs
        self.stored = self.chunks = convert(metadata.chunk_grid.configuration["chunk_shape"], _Sides)
        self.index: Codecs | None = None
        if [codec.name for codec in codecs] == ["sharding_indexed"]:
            shards = convert(codecs[0].configuration, _Shards)
            self.chunks, codecs = shards.chunk_shape, shards.codecs
            self.index = _codecs_of(shards.index_codecs, np.dtype(np.uint64), 1)
            self._is_index_first = shards.index_location == "start"
        keys = metadata.chunk_key_encoding
        usual, self._prefix = {"default": ("/", "c"), "v2": (".", "")}[keys.name]
        self.separator = str(keys.configuration.get("separator", usual))
        counts = {len(sides) for sides in (self.shape, self.chunks, self.stored)}
        if 0 in self.chunks or len(counts) > 1 or self.separator not in ("/", "."):
            raise Refused(_DAMAGED, AGAIN)
        if any(side % chunk for side, chunk in zip(self.stored, self.chunks, strict=True)):
            raise Refused("its shards are no whole numbers of chunks", AGAIN)
        self.codecs = _codecs_of(codecs, dtype, len(self.chunks))
        self.dtype = self.codecs.dtype
        self.fill_value = _fill_value(metadata.fill_value, dtype)
        self.names = tuple(str(name).lower() for name in metadata.dimension_names or ())
        size, whole = map(self.codecs.decoded_bytes, (self.chunks, self.shape))
        index = 16 * math.prod(self.stored) // math.prod(self.chunks) if self.index else 0
        if (most := max(size, index)) > DEFAULT_MAX_BYTES or index > _LARGE_CHUNK_BYTES:
            raise Refused(f"each of its chunks takes {bytes_text(most)}", "Save it in smaller chunks.")
        if size > _LARGE_CHUNK_BYTES and size > _MOST_TIMES_LARGER * whole:
            raise Refused(f"a chunk takes {bytes_text(size)}, and all of it {bytes_text(whole)}", AGAIN)
        count = math.prod(-(-side // chunk) for side, chunk in zip(self.shape, self.chunks, strict=True))
        if count > _MANY_CHUNKS and size < _SMALL_CHUNK_BYTES:
            why = f"it is stored in {count:,} chunks of {bytes_text(size)}"
            raise Refused(why, "Save it in larger chunks.")

    def _key(self, place: Sequence[int]) -> str:
        """Return the name of the file of a chunk, or of its shard, below the folder of the array."""
        parts = zip(place, self.chunks, self.stored, strict=True)
        return self.separator.join([*self._prefix, *(str(at * chunk // side) for at, chunk, side in parts)])

    def chunk_or_fill(self, place: Sequence[int]) -> tuple[np.ndarray, bool]:
        """Return the values of a chunk, or those it is filled with, and whether its file is there."""
        key, most = f"{self._folder}{self._key(place)}", self.codecs.stored_bytes(self.chunks)
        index = self.index
        data = self._files.read(key, most) if index is None else self._of_shard(index, key, place, most)
        if data is not None:
            return self.codecs.decoded(data, self.chunks), True
        is_stored = self._files.read(key, 0, 0) is not None
        if not is_stored and self.fill_value is None:
            why = f"its chunk {self._key(place)} is missing, and it names no value to fill it with"
            raise Refused(why, AGAIN)
        return np.broadcast_to(self.dtype.type(self.fill_value or 0), self.chunks), is_stored

    def _of_shard(self, index: Codecs, key: str, place: Sequence[int], most: int) -> bytes | None:
        counts = [side // chunk for side, chunk in zip(self.stored, self.chunks, strict=True)]
        shape = (2 * math.prod(counts),)
        # Its values, and four bytes for a checksum.
        size = index.decoded_bytes(shape) + 4 * len(index.packed)
        data = self._files.read(key, size, 0 if self._is_index_first else -size, size)
        if data is None:
            return None
        within = np.ravel_multi_index([at % n for at, n in zip(place, counts, strict=True)], counts)
        begin, length = map(int, index.decoded(data, shape)[2 * within : 2 * within + 2])
        return None if begin == length == _NOWHERE else self._files.read(key, most, begin, length)


def _fill_value(value: object, dtype: np.dtype) -> object:
    if value is None:
        return None
    if isinstance(value, str) and value.startswith("0x") and dtype.kind == "f":
        return np.frombuffer(int(value, 16).to_bytes(dtype.itemsize, "big"), dtype.newbyteorder(">"))[0]
    number = _NOT_FINITE[value] if isinstance(value, str) else value
    if isinstance(number, list) or (dtype.kind != "f" and dtype.type(number) != number):
        raise ValueError("fill_value")
    return dtype.type(number)


def node_in(files: StoreFiles, folder: str) -> StoredArray | Json | None:
    """Return the array of a folder of the store ("" or "0/"), or the attributes of a group; None: neither."""
    if (document := files.document(f"{folder}zarr.json")) is not None:
        if (kind := document.get("node_type")) == "array":
            return StoredArray(files, folder, convert(document, _Array), 3)
        return dict(document.get("attributes") or {}) if kind == "group" else None
    if (document := files.document(f"{folder}.zarray")) is not None:
        return StoredArray(files, folder, convert(document, _Array2).as_of_3(), 2)
    return None if files.document(f"{folder}.zgroup") is None else files.document(f"{folder}.zattrs") or {}
