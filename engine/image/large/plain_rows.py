"""Rows that are stored one after the other without compression: what is asked for is read, nothing else."""

from pathlib import Path

import numpy as np

from engine.image.array_types import converted
from engine.image.bytes_at import BytesAt
from engine.image.large.source import LargePicture
from engine.image.large.storage import Storage

# Bytes of rows that are read at a time, where they are converted or cut.
_PIECE_BYTES = 4 << 20


class PlainRows(LargePicture):
    """A picture whose planes lie in a file, row by row.

    `stored` is the type of its values there, with its byte order; `planes` has where each plane begins: one
    of all channels, or one for each.
    """

    def __init__(
        self,
        path: Path,
        title: str,
        shape: tuple[int, int, int],
        dtype: np.dtype,
        stored: np.dtype,
        planes: tuple[int, ...],
        storage: Storage,
        notes: tuple[str, ...] = (),
    ) -> None:
        height, width, self.channels = shape
        self.path, self.format, self.dtype, self.notes = path, title, dtype, notes
        self.storage = storage
        self.levels = ((height, width),)
        self._stored, self._planes = stored, planes
        self._samples = self.channels // len(planes)
        self._row_bytes = width * self._samples * stored.itemsize
        self.chunk = (1, width)
        self._bytes = BytesAt(path.open("rb", buffering=0))

    def read_into(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle into an array."""
        with self._errors_in_words():
            is_whole = (columns.start, columns.stop) == (0, self.width)
            is_same = self._stored == self.dtype and len(self._planes) == 1
            if is_whole and is_same and out.flags.c_contiguous:
                offset = self._planes[0] + rows.start * self._row_bytes
                self._bytes.fill(offset, out.reshape(-1).view(np.uint8).data)
                return
            for plane, begin in enumerate(self._planes):
                first = plane * self._samples
                self._fill(begin, rows, columns, out[..., first : first + self._samples])

    def _fill(self, begin: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        pixel = self._samples * self._stored.itemsize
        is_narrow = (columns.stop - columns.start) * pixel < min(self._row_bytes, 1 << 16)
        if is_narrow:
            for row in range(rows.start, rows.stop):
                offset = begin + row * self._row_bytes + columns.start * pixel
                data = self._bytes.read(offset, (columns.stop - columns.start) * pixel)
                row_values = np.frombuffer(data, self._stored).reshape(-1, self._samples)
                out[row - rows.start] = converted(row_values, self.dtype)
            return
        step = max(1, _PIECE_BYTES // self._row_bytes)
        for first in range(rows.start, rows.stop, step):
            last = min(first + step, rows.stop)
            data = self._bytes.read(begin + first * self._row_bytes, (last - first) * self._row_bytes)
            values = np.frombuffer(data, self._stored).reshape(last - first, -1, self._samples)
            out[first - rows.start : last - rows.start] = converted(values[:, columns], self.dtype)

    def close(self) -> None:
        """Close the file; nothing is read after that."""
        self._bytes.close()
