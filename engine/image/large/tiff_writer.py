"""Writing TIFF in parts: strips or tiles first, the lists of tags (IFDs) and the header last.

Until then the first bytes of the file are zero, so what is unfinished is no TIFF.
"""

import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import imagecodecs
import numpy as np

from engine.image.large.result import LargeResult, PartFolder
from engine.image.metadata import NO_METADATA, TEXT_TAGS, Metadata, TiffTag, inner_lists, loaded_exif
from engine.process import cores

# Types of values: number, NumPy type.
_TYPES = {1: "u1", 2: "u1", 3: "<u2", 4: "<u4", 5: "<u4", 7: "u1", 11: "<f4", 12: "<f8", 16: "<u8"}
KNOWN_TYPES = frozenset(_TYPES)
TEXT, SHORT, LONG, RATIONAL, UNDEFINED, LONG8 = 2, 3, 4, 5, 7, 16
# Largest offset of a classic TIFF.
_CLASSIC_BYTES = 2**32 - 1


Tags = dict[int, tuple[int, bytes | Sequence[int] | Sequence[float]]]
"""Tags by their numbers: the type of the values of each, and these; a text or bytes as they are."""


def header(first: int, *, is_big: bool) -> bytes:
    """Return the header of a file whose first list of tags lies at an offset."""
    big = struct.pack("<2sHHHQ", b"II", 43, 8, 0, first)
    return big if is_big else struct.pack("<2sHI", b"II", 42, first)


def list_of_tags(tags: Tags, at: int, *, is_big: bool) -> tuple[bytes, int]:
    """Return the bytes of a list that is written at an offset, its values before it, and where it begins."""
    inline, entry, offset = (8, "<HHQ", "<Q") if is_big else (4, "<HHI", "<I")
    # Values and lists begin at even offsets.
    values, entries = bytearray(at % 2), bytearray()
    for code, (kind, held) in sorted(tags.items()):
        data = held if isinstance(held, bytes) else np.asarray(held, _TYPES[kind]).tobytes()
        data += b"\0" * (kind == TEXT and not data.endswith(b"\0"))
        value_bytes = np.dtype(_TYPES[kind]).itemsize * (2 if kind == RATIONAL else 1)
        entries += struct.pack(entry, code, kind, len(data) // value_bytes)
        if len(data) <= inline:
            entries += data.ljust(inline, b"\0")
        else:
            entries += struct.pack(offset, at + len(values))
            values += data + b"\0" * (-len(data) % 8)
    count = struct.pack("<Q" if is_big else "<H", len(tags))
    return b"".join((values, count, entries, struct.pack(offset, 0))), at + len(values)


# Of deflate and zstd the fastest level: level 6 of deflate took seven times as long for an eighth less.
# Compression -> its number, and what encodes the samples of a strip or tile.
_ENCODERS: dict[str, tuple[int, Callable[[Any], bytes | memoryview]]] = {
    "none": (1, lambda samples: samples.reshape(-1).view(np.uint8).data),
    "deflate": (8, lambda samples: bytes(imagecodecs.deflate_encode(samples, level=1))),
    "zstd": (50000, lambda samples: bytes(imagecodecs.zstd_encode(samples, level=1))),
}
_HEADER_BYTES = 16
_MOST_TAG_BYTES = 64 << 20


class TiffResult(LargeResult):
    """A TIFF under way: its strips or tiles are appended to `file`; another file says where each is."""

    def _open(self, part: PartFolder) -> None:
        self._predictor = 1 if self.storage.compression == "none" else 3 if self.dtype.kind == "f" else 2
        self._pool = ThreadPoolExecutor(cores(), thread_name_prefix="encode")
        self.file, self._index = part.file(), part.file("result-segments")
        if not self.file.byte_count:
            self.file.append(b"\0" * _HEADER_BYTES)

    def write(self, level: int, top: int, rows: np.ndarray) -> None:
        """Encode strips or tiles on several threads, and append them."""
        (down, across), width = self.storage.chunk, self.levels[level][1]
        step = across if self.storage.is_tiled else width
        corners = [(first, left) for first in range(0, len(rows), down) for left in range(0, width, step)]
        parts = [rows[first : first + down, left : left + step] for first, left in corners]
        found = np.empty((len(parts), 3), np.uint64)
        # A few at a time: encoded ones wait in memory.
        batch = 4 * cores()
        for begin in range(0, len(parts), batch):
            encoded = self._pool.map(self._encode, parts[begin : begin + batch])
            for number, data in enumerate(encoded, begin):
                found[number] = level, self.file.byte_count, len(data)
                self.file.append(data)
        self._index.append(found)

    def _encode(self, part: np.ndarray) -> bytes | memoryview:
        down, across = self.storage.chunk
        if self.storage.is_tiled and part.shape[:2] != (down, across):
            margins = (0, down - part.shape[0]), (0, across - part.shape[1]), (0, 0)
            part = np.pad(part, margins, mode="edge")
        samples = np.ascontiguousarray(part)
        if self._predictor == 2:
            samples = imagecodecs.delta_encode(samples, axis=-2)
        elif self._predictor == 3:
            samples = imagecodecs.floatpred_encode(samples, axis=-2)
        return _ENCODERS[self.storage.compression][1](samples)

    def finish(self) -> None:
        """Append the lists of tags, and write the header."""
        self._is_big = self.file.byte_count + _MOST_TAG_BYTES > _CLASSIC_BYTES
        self._offset = LONG8 if self._is_big else LONG
        # Each list says where others are, which come before it: within EXIF data, of smaller levels.
        tags = self._append_exif()
        if smaller := [self._append_list(self._tags(level)) for level in range(1, len(self.levels))]:
            tags[TiffTag.BELOW] = self._offset, smaller
        begin = self._append_list(self._tags(0) | tags)
        self.file.finish(header(begin, is_big=self._is_big))

    def _append_list(self, tags: Tags) -> int:
        data, begin = list_of_tags(tags, self.file.byte_count, is_big=self._is_big)
        self.file.append(data)
        return begin

    def _tags(self, level: int) -> Tags:
        storage, (height, width), samples = self.storage, self.levels[level], self.channels
        known = np.frombuffer(self._index.content(), np.uint64).reshape(-1, 3)
        begins, counts = known[known[:, 0] == level][:, 1:].T.tolist()
        has_alpha, profile = map(storage.details.get, ("has_alpha", "icc_profile"))
        colours, extra = (samples - 1, [2]) if has_alpha else (samples, [])
        if colours not in (1, 3):  # further channels, of no colour
            extra, colours = [0] * (samples - 1), 1
        down, across = storage.chunk
        tags: Tags = {
            TiffTag.SUBFILE_TYPE: (LONG, [1 if level else 0]),
            TiffTag.WIDTH: (LONG, [width]),
            TiffTag.HEIGHT: (LONG, [height]),
            TiffTag.BITS: (SHORT, [8 * self.dtype.itemsize] * samples),
            TiffTag.COMPRESSION: (SHORT, [_ENCODERS[storage.compression][0]]),
            TiffTag.PHOTOMETRIC: (SHORT, [2 if colours == 3 else 1]),
            TiffTag.SAMPLES: (SHORT, [samples]),
            TiffTag.PLANES: (SHORT, [1]),
            TiffTag.SOFTWARE: (TEXT, b"Haloscope"),
            TiffTag.SAMPLE_FORMAT: (SHORT, [3 if self.dtype.kind == "f" else 1] * samples),
        }
        if storage.is_tiled:
            tags |= {TiffTag.TILE_WIDTH: (LONG, [across]), TiffTag.TILE_HEIGHT: (LONG, [down])}
            places = TiffTag.TILE_OFFSETS, TiffTag.TILE_BYTES
        else:
            tags[TiffTag.ROWS_PER_STRIP] = LONG, [min(down, height)]
            places = TiffTag.STRIP_OFFSETS, TiffTag.STRIP_BYTES
        tags |= {places[0]: (self._offset, begins), places[1]: (self._offset, counts)}
        if self._predictor > 1:
            tags[TiffTag.PREDICTOR] = SHORT, [self._predictor]
        if extra:
            tags[TiffTag.EXTRA_SAMPLES] = SHORT, extra
        if level == 0:
            tags |= storage.details.get("tags", {})
            if profile:
                tags[TiffTag.ICC_PROFILE] = UNDEFINED, profile
            if storage.is_ome:
                tags[TiffTag.DESCRIPTION] = TEXT, self._ome_xml()
        return tags

    def _append_exif(self) -> Tags:
        """Append the lists of tags within EXIF data; return the tags of the first page for all of it."""
        metadata: Metadata = self.storage.details.get("metadata", NO_METADATA)
        if not metadata.exif:
            return {}
        exif = loaded_exif(metadata.exif)
        # The description of an OME-TIFF is its OME metadata.
        texts = TEXT_TAGS[1:] if self.storage.is_ome else TEXT_TAGS
        tags: Tags = {
            code: (TEXT, str(exif[code]).encode("latin-1", "replace")) for code in texts if code in exif
        }
        # Loaded with the EXIF data.
        directory = import_module("PIL.TiffImagePlugin").ImageFileDirectory_v2
        for code, inner in inner_lists(exif).items():
            made = directory(header(0, is_big=self._is_big), group=code)
            made.update(inner)
            self.file.append(b"\0" * (self.file.byte_count % 2))
            tags[code] = self._offset, [self.file.byte_count]
            self.file.append(made.tobytes(self.file.byte_count))
        return tags

    def _ome_xml(self) -> bytes:
        height, width = self.levels[0]
        # 40 ms, and the source was read with it.
        document = import_module("tifffile").OmeXml()
        stored = (1, 1, 1, height, width, self.channels)
        shape, axes = (stored[3:5], "YX") if self.channels == 1 else (stored[3:], "YXS")
        document.addimage(self.dtype, shape, stored, axes=axes, **self.storage.details.get("ome", {}))
        text: bytes = document.tostring(declaration=True).encode("utf-8")
        return text

    def close(self) -> None:
        """Stop its threads."""
        self._pool.shutdown(cancel_futures=True)
