"""What the chunks of a Zarr store are decoded by: the codecs that are read, each bounded by its chunk.

A chunk says how large it is only to the one who decodes it, and 48 kB can be 1.5 GB of zeros. So each decoder
gets the most bytes that may come of it. What is not in this list is not read; none of it executes anything.
"""

import bz2
import lzma
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import imagecodecs
import numpy as np

from engine.image.faults import Refused

_MOST_CODECS = 16
_LZMA_BYTES = 256 << 20
_DAMAGED = "one of its chunks is damaged"

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
        raise Refused(_DAMAGED)
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
        raise Refused(f"{_DAMAGED}: its checksum is another one")
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
                why = f"{_DAMAGED}: {name} cannot unpack it to the {most:,} bytes that it may have"
                raise Refused(why) from error
            _refuse_more(len(data), self.stored_bytes(shape))
        if len(data) != size:
            raise Refused(f"{_DAMAGED}: it has {len(data):,} bytes, and its shape takes {size:,}")
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
        raise Refused(f"{_DAMAGED}: it unpacks to more than the {most:,} bytes of its shape")
