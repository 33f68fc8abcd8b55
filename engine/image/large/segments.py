"""A picture that is stored in segments (strips, tiles, chunks): threads decode those that a rectangle needs.

What is decoded is kept for a while, within a bound, as neighbours in space are asked for in turn.
"""

import itertools
import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engine.image.large.source import LargePicture
from engine.image.large.threads import core_count

# Decoded segments that are kept, bytes.
DEFAULT_CACHE_BYTES = 64 << 20
_MOST_WAITING = 1024

Key = tuple[int, int, int]
"""Level, row and column of a segment among the segments."""


class SegmentedPicture(LargePicture):
    """The part that all formats of segments have in common."""

    def __init__(self, threads: int | None, cache_bytes: int) -> None:
        self._pool = ThreadPoolExecutor(threads or core_count(), thread_name_prefix="decode")
        self.cache_bytes, self._cached_bytes = cache_bytes, 0
        self._cache: OrderedDict[Key, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    @abstractmethod
    def segment_shape(self, level: int) -> tuple[int, int]:
        """Return rows and columns of the segments of a level; the last ones may be smaller."""

    @abstractmethod
    def _decode(self, level: int, row: int, column: int) -> np.ndarray:
        """Return the pixels of a segment, cut off where the level ends. Called on: a decoding thread."""

    def _decode_into(self, level: int, row: int, column: int, out: np.ndarray) -> bool:
        """Decode a whole segment straight into its place; return whether that was done."""
        return False

    def fill(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle into an array."""
        height, width = self.segment_shape(level)

        def place(key: Key) -> None:
            _, down, across = key
            top, left = down * height, across * width
            first, last = max(top, rows.start), min(top + height, rows.stop)
            begin, end = max(left, columns.start), min(left + width, columns.stop)
            part = out[first - rows.start : last - rows.start, begin - columns.start : end - columns.start]
            if not self._decode_into(*key, part):
                part[:] = self._segment(key)[first - top : last - top, begin - left : end - left]

        keys = self._keys(level, rows, columns)
        # A batch at a time: there may be millions.
        while batch := list(itertools.islice(keys, _MOST_WAITING)):
            if len(batch) == 1:
                place(batch[0])
                continue
            pending = [self._pool.submit(place, key) for key in batch]
            try:
                for future in pending:
                    future.result()
            finally:
                for future in pending:
                    future.cancel()

    def _keys(self, level: int, rows: slice, columns: slice) -> Iterator[Key]:
        height, width = self.segment_shape(level)
        for row in range(rows.start // height, -(-rows.stop // height)):
            for column in range(columns.start // width, -(-columns.stop // width)):
                yield level, row, column

    def _segment(self, key: Key) -> np.ndarray:
        with self._lock:
            found = self._cache.get(key)
            if found is not None:
                self._cache.move_to_end(key)
                return found
        pixels = self._decode(*key)
        if pixels.nbytes <= self.cache_bytes:
            with self._lock:
                if key not in self._cache:
                    self._cache[key] = pixels
                    self._cached_bytes += pixels.nbytes
                while self._cached_bytes > self.cache_bytes:
                    self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
        return pixels

    def close(self) -> None:
        """Close the file; nothing is read after that."""
        self._pool.shutdown(cancel_futures=True)
        with self._lock:
            self._cache.clear()
            self._cached_bytes = 0
