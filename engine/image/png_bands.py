"""Large PNG files in bands: rows are inflated here, and libpng undoes the filters of a small PNG each.

libpng wants the whole file in memory, which of a photograph is half, and of noise all of what the pixels
take.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from numpy.typing import NDArray

from engine.image.canvas import Canvas
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.scratch import bands

_READ_BYTES = 64 * 2**10


def decode_in_bands(
    file: BinaryIO,
    head: bytes,
    pieces: Sequence[tuple[int, int]],
    transparent: bytes | None,
    form: Form,
    stored_channels: int,
    canvas: Canvas,
) -> None:
    """Decode the pixels of a PNG onto a canvas.

    `head` is the signature and the IHDR chunk, `pieces` the offset and size of the content of each IDAT chunk,
    `transparent` the content of the tRNS chunk, `stored_channels` the samples per pixel in the file.
    """
    import imagecodecs

    row_bytes = 1 + form.width * stored_channels * form.dtype.itemsize
    inflated = _Inflated(file, pieces)
    above = b""
    for rows in bands(form.height, row_bytes):
        count = rows.stop - rows.start
        raw = inflated.read(count * row_bytes)
        if len(raw) < count * row_bytes:
            raise Refused(f"its compressed pixels stop before row {rows.stop:,} of {form.height:,}")
        samples: NDArray[Any] = imagecodecs.png_decode(
            _small_png(head, transparent, count + bool(above), above + raw)
        )
        samples = samples.reshape(-1, form.width, form.channels + form.has_alpha)[1 if above else 0 :]
        canvas.put_samples(rows, samples)
        # Stored as it is (filter 0), the last row of this band is what the first of the next may refer to.
        last = samples[-1, :, :stored_channels]
        above = b"\0" + last.astype(last.dtype.newbyteorder(">")).tobytes()


class _Inflated:
    """The inflated pixels, read piece by piece."""

    def __init__(self, file: BinaryIO, pieces: Sequence[tuple[int, int]]) -> None:
        self._compressed = _compressed(file, pieces)
        self._inflater = zlib.decompressobj()
        self._left = b""

    def read(self, count: int) -> bytes:
        """Return the next bytes; fewer where the data stops."""
        parts = []
        while count:
            compressed = self._left or next(self._compressed, b"")
            if not compressed or self._inflater.eof:
                break
            part = self._inflater.decompress(compressed, count)
            self._left = self._inflater.unconsumed_tail
            count -= len(part)
            parts.append(part)
        return b"".join(parts)


def _compressed(file: BinaryIO, pieces: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    for offset, size in pieces:
        file.seek(offset)
        while size:
            data = file.read(min(size, _READ_BYTES))
            if not data:
                return
            size -= len(data)
            yield data


def _small_png(head: bytes, transparent: bytes | None, rows: int, raw: bytes) -> bytes:
    header = head[16:20] + struct.pack(">I", rows) + head[24:29]
    parts = [head[:8], png_chunk(b"IHDR", header)]
    if transparent is not None:
        parts.append(png_chunk(b"tRNS", transparent))
    parts += [png_chunk(b"IDAT", zlib.compress(raw, 0)), png_chunk(b"IEND", b"")]
    return b"".join(parts)


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk with its length and checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
