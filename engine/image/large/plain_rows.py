"""Rows that are stored one after the other without compression: what is asked for is read, nothing else."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engine.image.bytes_at import BytesAt
from engine.image.canvas import Canvas
from engine.image.large.source import LargePicture
from engine.image.scratch import bands

# Columns that take less of a row are read alone.
_NARROW_BYTES = 1 << 16


class PlainRows(LargePicture):
    """A picture whose planes lie in a file, row by row.

    `stored` is the type of its values there, with its byte order; `planes` has where each plane begins: one
    of all `samples` of a pixel, or one for each of them. `interpret` makes pixels of these, (rows, columns,
    samples) to (rows, columns, channels); None where they are the pixels.
    """

    def __init__(
        self,
        path: Path,
        data: BytesAt,
        title: str,
        shape: tuple[int, int, int],
        dtype: np.dtype,
        stored: np.dtype,
        samples: int,
        planes: Sequence[int],
        interpret: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        height, width, self.channels = shape
        self.path, self.format, self.dtype = path, title, dtype
        self.levels, self.chunk = ((height, width),), (1, width)
        self._bytes, self._stored, self._planes, self._interpret = data, stored, planes, interpret
        self._per_plane = samples // len(planes)
        self._row_bytes = width * self._per_plane * stored.itemsize
        self._is_direct = interpret is None and stored == dtype and len(planes) == 1

    def fill(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle into an array."""
        if self._is_direct and columns == slice(0, self.width) and out.flags.c_contiguous:
            self._bytes.fill(self._planes[0] + rows.start * self._row_bytes, _bytes_of(out))
            return
        for part in bands(rows.stop - rows.start, len(self._planes) * self._row_bytes):
            out[part] = self._pixels(slice(rows.start + part.start, rows.start + part.stop), columns)

    def decode_onto(self, canvas: Canvas) -> None:
        """Put all pixels onto a canvas, band by band where that needs no memory for all of them."""
        if self._is_direct and canvas.alpha is None:
            super().decode_onto(canvas)
            return
        for rows in bands(self.height, len(self._planes) * self._row_bytes):
            canvas.put_samples(rows, self._pixels(rows, slice(0, self.width)))

    def _pixels(self, rows: slice, columns: slice) -> np.ndarray:
        samples = self._samples_of(rows, columns)
        return samples if self._interpret is None else self._interpret(samples)

    def _samples_of(self, rows: slice, columns: slice) -> np.ndarray:
        """Return the samples of a rectangle, (rows, columns, samples of all planes)."""
        pixel = self._per_plane * self._stored.itemsize
        count, width = rows.stop - rows.start, columns.stop - columns.start
        is_narrow = width * pixel < min(self._row_bytes, _NARROW_BYTES)
        read = columns if is_narrow else slice(0, self.width)
        found = np.empty((len(self._planes), count, read.stop - read.start, self._per_plane), self._stored)
        for begin, plane in zip(self._planes, found, strict=True):
            offset = begin + rows.start * self._row_bytes + read.start * pixel
            for row in plane if is_narrow else (plane,):
                self._bytes.fill(offset, _bytes_of(row))
                offset += self._row_bytes
        kept = found if is_narrow else found[:, :, columns]
        return np.moveaxis(kept, 0, -2).reshape(count, width, -1)

    def close(self) -> None:
        """Close the file; nothing is read after that."""
        self._bytes.close()


def _bytes_of(values: np.ndarray) -> memoryview:
    return values.reshape(-1).view(np.uint8).data
