"""LargePicture: a picture that stays in its file; rectangles of its levels are read on request.

Where it is stored in segments (strips, tiles, chunks), threads decode those that a rectangle needs, and what
is decoded is kept for a while, within a bound, as neighbours in space are requested in turn. Of rows without
compression the requested rectangle is read, nothing else.
"""

import itertools
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from engine.files.reading import Json
from engine.image.convert import bands
from engine.image.faults import Refused, errors_in_words
from engine.image.format import Canvas
from engine.image.metadata import NO_METADATA, Metadata, unique
from engine.process import KeptValues, cores


@dataclass(frozen=True, slots=True)
class Storage:
    """How a picture is stored: what a result of the same kind takes over from its source."""

    kind: str  # "tiff", "zarr" or "npy"
    chunk: tuple[int, int]  # rows and columns of a tile, of a strip (which has all columns), or of a chunk
    is_tiled: bool = True  # False for strips and rows
    rows_at_once: int = 0  # of a result, rows that are written together
    compression: str = "none"  # or "deflate", "zstd"
    smallest: tuple[int, int] | None = None  # rows and columns of the last level; None without a pyramid
    is_ome: bool = False  # whether it is an OME-TIFF or OME-Zarr
    details: Json = field(default_factory=dict)
    """What else a writer of the same kind keeps: tags and OME metadata. Of a TIFF also the `metadata` that it
    gets."""


class LargePicture(ABC):
    """A picture in a file, open for reading. Close it, or use it as a context manager.

    Called on: any thread, several at once.
    """

    path: Path  # the file or the folder
    format: str  # the title of its format: "BigTIFF, tiled"
    levels: tuple[tuple[int, int], ...]
    """Rows and columns of each level, the full size first, then ever smaller ones; one where the file has no
    pyramid."""
    channels: int  # samples per pixel, 1 to 4
    dtype: np.dtype  # uint8, uint16 or float32, in the machine's byte order
    chunk: tuple[int, int]
    """Rows and columns that the file stores together: what reading a single pixel of full size costs."""
    segment_bytes: int = 0  # what decoding one takes, where it holds more than what is read of it
    cache_bytes: int = 0  # how much of what is decoded is kept for what is read next
    storage: Storage  # for a result of the same kind
    has_alpha: bool = False  # whether the last channel is the opacity
    icc_profile: bytes | None = None
    notes: tuple[str, ...] = ()  # sentences for the person: what was special about the file
    metadata: Metadata = NO_METADATA  # EXIF data and resolution
    words: tuple[()] | tuple[str, tuple[tuple[str, str], ...]] = ()
    """The title of its kind of file, and what its library says, as of `Format`; empty: those of any file."""
    _bytes: "BytesAt | None" = None  # its file, where it is one that stays open

    @property
    def height(self) -> int:
        """Rows in full size."""
        return self.levels[0][0]

    @property
    def width(self) -> int:
        """Columns in full size."""
        return self.levels[0][1]

    def read(self, level: int, rows: slice, columns: slice) -> np.ndarray:
        """Return the pixels of a rectangle, as `read_into` reads them: H x W x C, C-contiguous."""
        out = np.empty((rows.stop - rows.start, columns.stop - columns.start, self.channels), self.dtype)
        self.read_into(level, rows, columns, out)
        return out

    def read_into(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle, which lies within the level, into an array of its shape and type.

        Raises ImageReadError where a part of the file is missing, damaged, or of a codec that is not there.
        """
        with errors_in_words(str(self.path), *self.words, doing="read"):
            self.fill(level, rows, columns, out)

    @abstractmethod
    def fill(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read as `read_into`, with errors as decoders raise them."""

    def decode_onto(self, canvas: Canvas) -> None:
        """Put all pixels of full size onto a canvas, with errors as of `fill`."""
        whole = slice(0, self.height), slice(0, self.width)
        canvas.decode_into(lambda out: self.fill(0, *whole, out.reshape(*out.shape[:2], self.channels)))

    def close(self) -> None:
        """Close the file; nothing is read after that. What is in memory is left to whoever still reads."""
        if self._bytes is not None:
            self._bytes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_MOST_WAITING = 1024

Key = tuple[int, int, int]
"""Level, row and column of a segment among the segments."""


class SegmentedPicture(LargePicture):
    """The part that all formats of segments have in common.

    `segments` has the rows and columns of those of each level; the last ones may be smaller. `notes` are also
    on the parts that were read.
    """

    segments: tuple[tuple[int, int], ...]

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(cores(), thread_name_prefix="decode")
        self._cache: KeptValues[Key, np.ndarray] = KeptValues(0)
        self._lock = threading.Lock()

    def note(self, *sentences: str) -> None:
        """Add sentences for the person."""
        with self._lock:
            self.notes = unique((*self.notes, *sentences))

    @abstractmethod
    def _decode(self, level: int, row: int, column: int) -> np.ndarray:
        """Return the pixels of a segment, cut off where the level ends. Called on: a decoding thread."""

    def fill(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle into an array."""
        height, width = self.segments[level]

        def place(key: Key) -> None:
            top, left = key[1] * height, key[2] * width
            first, last = max(top, rows.start), min(top + height, rows.stop)
            begin, end = max(left, columns.start), min(left + width, columns.stop)
            part = out[first - rows.start : last - rows.start, begin - columns.start : end - columns.start]
            part[:] = self._segment(key)[first - top : last - top, begin - left : end - left]

        down = range(rows.start // height, -(-rows.stop // height))
        across = range(columns.start // width, -(-columns.stop // width))
        keys = ((level, row, column) for row in down for column in across)
        # A batch at a time: there may be millions.
        while batch := tuple(itertools.islice(keys, _MOST_WAITING)):
            # What is left of one is not begun where a segment is damaged.
            for _ in (map if len(batch) == 1 else self._pool.map)(place, batch):
                pass

    def _segment(self, key: Key) -> np.ndarray:
        if (kept := self._cache.get(key)) is not None:
            return kept
        pixels = self._decode(*key)
        if pixels.nbytes <= self.cache_bytes:
            self._cache.most_bytes = self.cache_bytes
            self._cache.add(key, pixels, pixels.nbytes)
        return pixels

    def close(self) -> None:
        """Close the file; nothing is read after that."""
        self._pool.shutdown(cancel_futures=True)
        self._cache = KeptValues(0)
        super().close()


# One call of the system reads at most 2 GB.
_MOST_AT_ONCE = 1 << 30


def ends_early(end: int, size: int) -> Refused:
    """Return why a file of a size is refused whose data should reach to a byte."""
    return Refused(f"its data reaches to byte {end:,}, the file ends after {size:,}: it was cut short")


class BytesAt:
    """A file, open for reading; every read names its offset, so threads do not disturb one another."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.path = file, Path(file.name)
        self._lock = threading.Lock()
        self.size = os.fstat(self._file.fileno()).st_size

    def fill(self, offset: int, out: memoryview) -> None:
        """Read as many bytes as `out` has; Refused says where the file ends too early."""
        done = 0
        while done < len(out):
            part = out[done : done + _MOST_AT_ONCE]
            if hasattr(os, "preadv"):
                count = os.preadv(self._file.fileno(), [part], offset + done)
            else:
                with self._lock:  # Windows and macOS 10 have a single position for all threads
                    self._file.seek(offset + done)
                    count = self._file.readinto(part) or 0  # type: ignore[attr-defined]
            if not count:
                raise ends_early(offset + len(out), self.size)
            done += count

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes."""
        out = bytearray(size)
        self.fill(offset, memoryview(out))
        return bytes(out)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(eq=False)
class PlainRows(LargePicture):
    """A picture whose planes lie in a file, row by row.

    `stored` is the type of its values there, with its byte order; `planes` has where each plane begins, with
    `per_plane` samples of each pixel. `interpret` makes pixels of all of these, (rows, columns, samples) to
    (rows, columns, channels); None where they are the pixels.
    """

    data: BytesAt
    format: str
    shape: tuple[int, int, int]
    dtype: np.dtype
    stored: np.dtype
    per_plane: int
    planes: Sequence[int]
    interpret: Callable[[np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        height, width, self.channels = self.shape
        self._bytes, self.path = self.data, self.data.path
        self.levels, self.chunk = ((height, width),), (1, width)
        self._row_bytes = width * self.per_plane * self.stored.itemsize

    def fill(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle into an array."""
        is_direct = self.interpret is None and self.stored == self.dtype and len(self.planes) == 1
        if is_direct and columns == slice(0, self.width) and out.flags.c_contiguous:
            self.data.fill(self.planes[0] + rows.start * self._row_bytes, _bytes_of(out))
            return
        for part in bands(rows.stop - rows.start, len(self.planes) * self._row_bytes):
            planes = self._read(rows.start + part.start, part.stop - part.start, columns)
            if self.interpret is not None:
                samples = np.moveaxis(planes, 0, -2).reshape(*planes.shape[1:3], -1)
                out[part] = self.interpret(samples)
                continue
            for number, plane in enumerate(planes):
                first = number * self.per_plane
                out[part, :, first : first + self.per_plane] = plane

    def _read(self, top: int, count: int, columns: slice) -> np.ndarray:
        """Return rows of some columns as they are stored, (planes, rows, columns, samples of a plane)."""
        pixel, width = self.per_plane * self.stored.itemsize, columns.stop - columns.start
        planes = np.empty((len(self.planes), count, width, self.per_plane), self.stored)
        for begin, plane in zip(self.planes, planes, strict=True):
            offset = begin + top * self._row_bytes + columns.start * pixel
            # Whole rows lie in the file one after the other.
            for row in plane if width < self.width else (plane,):
                self.data.fill(offset, _bytes_of(row))
                offset += self._row_bytes
        return planes


def _bytes_of(values: np.ndarray) -> memoryview:
    return values.reshape(-1).view(np.uint8).data
