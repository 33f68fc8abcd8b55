"""The pixels of a PNG, decoded by imagecodecs (libpng), which is given only the chunks that decide on them.

libpng wants the whole file in memory, which of a photograph is half, and of noise all of what the pixels
take. So large files are decoded in bands: rows are inflated here, and libpng undoes the filters of a small
PNG each.
"""

import logging
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from typing import BinaryIO, cast

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.budget import Budget
from engine.image.canvas import Canvas
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.png_chunks import HEADER_END, PALETTE, Chunks, Header, png_chunk
from engine.image.scratch import bands, bands_of

_PIECE_BYTES = 64 * 2**10

# What libpng says, and the notes that it becomes. That an interlaced file is read at once is none.
_CHECKSUM = "incorrect data check"
WRONG_CHECKSUM = "The checksum of its pixels is wrong; they were opened as they are."
SURPLUS = "Its compressed pixels go on after its last row; what follows was left out."
_NOTES = {
    _CHECKSUM: WRONG_CHECKSUM,
    "Too much image data": SURPLUS,
    "Extra compressed data": SURPLUS,
}


class _PastTheEnd:
    """Finds pixels whose index is past the end of a palette, which libpng shows as black without a word.

    The palette that libpng gets is filled up to its full size with a colour whose red no other colour has.
    """

    def __init__(self, header: Header, colours: bytes) -> None:
        count, full_count = len(colours) // 3, 2**header.depth
        if not colours or len(colours) % 3 or count > full_count:
            raise Refused(f"its palette of {len(colours):,} bytes has no number of colours that it may have")
        reds = frozenset(colours[::3])
        self._red = next((red for red in range(256) if red not in reds), 0)
        self._is_full = count == full_count
        self.chunk = png_chunk(b"PLTE", colours + bytes((self._red, 0, 0)) * (full_count - count))

    def blacken(self, samples: NDArray[np.uint8]) -> list[str]:
        """Make them black; return a note where there are any."""
        found = 0
        for rows in bands_of(samples) if not self._is_full else ():
            is_past = samples[rows][..., 0] == self._red
            count = int(np.count_nonzero(is_past))
            if count:
                samples[rows][..., 0][is_past] = 0
                found += count
        if not found:
            return []
        pixels = "1 pixel names a colour" if found == 1 else f"{found:,} pixels name colours"
        return [f"{pixels} past the end of its palette, and became black."]


def decode_at_once(
    file: BinaryIO, head: bytes, header: Header, chunks: Chunks, canvas: Canvas, budget: Budget
) -> list[str]:
    """Decode the pixels of a PNG onto a canvas; return notes. `head` is the signature and the IHDR chunk."""
    pieces, transparent = chunks.decoded, chunks.extras.get(b"tRNS")
    palette = None
    if header.colour_type == PALETTE:
        palette = _PastTheEnd(header, chunks.extras.get(b"PLTE", b""))
        head += palette.chunk
        if transparent is not None:
            head += png_chunk(b"tRNS", transparent)
        pieces, transparent = [(begin - 8, size + 12) for begin, size in chunks.pixels], None
    data = _joined(file, head, pieces)

    def decode(out: np.ndarray) -> None:
        try:
            imagecodecs.png_decode(data, out=out)
        except imagecodecs.PngError as error:
            if _CHECKSUM not in str(error):
                raise
            form = header.form(has_alpha=canvas.alpha is not None)
            budget.check(form, len(data) + 3 * header.raw_bytes)
            inflated = _Inflated(file, chunks.pixels)
            raw = inflated.read(header.raw_bytes)
            notes.extend(inflated.end_notes())
            imagecodecs.png_decode(_small_png(head, transparent, header.height, raw), out=out)
        if palette is not None:
            notes.extend(palette.blacken(out))

    with noted_by_libpng() as notes:
        canvas.decode_into(decode)
    return notes


def _joined(file: BinaryIO, head: bytes, pieces: Sequence[tuple[int, int]]) -> bytearray:
    """Return a PNG of `head`, parts of a file (offset, bytes), and an end."""
    end = png_chunk(b"IEND", b"")
    data = bytearray(len(head) + sum(size for _, size in pieces) + len(end))
    data[: len(head)], offset = head, len(head)
    for begin, size in pieces:
        file.seek(begin)
        cast(BufferedReader, file).readinto(memoryview(data)[offset : offset + size])
        offset += size
    data[offset:] = end
    return data


def decode_in_bands(
    file: BinaryIO,
    head: bytes,
    pieces: Sequence[tuple[int, int]],
    transparent: bytes | None,
    form: Form,
    stored_channels: int,
    canvas: Canvas,
) -> list[str]:
    """Decode the pixels of a PNG onto a canvas; return notes.

    `head` is the signature and the IHDR chunk, `pieces` the offset and size of the content of each IDAT
    chunk, `transparent` the content of the tRNS chunk, `stored_channels` the samples per pixel in the file.
    """
    row_bytes = 1 + form.width * stored_channels * form.dtype.itemsize
    inflated = _Inflated(file, pieces)
    above = b""
    for rows in bands(form.height, row_bytes):
        count = rows.stop - rows.start
        raw = inflated.read(count * row_bytes)
        if len(raw) < count * row_bytes:
            raise Refused(f"its compressed pixels stop before row {rows.stop:,} of {form.height:,}")
        samples: np.ndarray = imagecodecs.png_decode(
            _small_png(head, transparent, count + bool(above), above + raw)
        )
        samples = samples.reshape(-1, form.width, form.channels + form.has_alpha)[1 if above else 0 :]
        canvas.put_samples(rows, samples)
        # Stored as it is (filter 0), the last row of this band is what the first of the next may refer to.
        last = samples[-1, :, :stored_channels]
        above = b"\0" + last.astype(last.dtype.newbyteorder(">")).tobytes()
    return inflated.end_notes()


class _Inflated:
    """The inflated pixels, read piece by piece; a wrong checksum is noted."""

    def __init__(self, file: BinaryIO, pieces: Sequence[tuple[int, int]]) -> None:
        self._compressed = _compressed(file, pieces)
        # Without zlib's frame: it would keep back the last bytes of a stream with a wrong checksum.
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._left = b""
        while len(self._left) < 2 and (more := next(self._compressed, b"")):
            self._left += more
        frame, self._left = self._left[:2], self._left[2:]
        if len(frame) < 2 or frame[0] & 15 != 8 or frame[1] & 32 or int.from_bytes(frame, "big") % 31:
            raise Refused("its compressed pixels are damaged: they do not begin as they must")
        self._checksum = zlib.adler32(b"")

    def read(self, count: int) -> bytes:
        """Return the next bytes; fewer where the data stops."""
        parts = []
        while count and not self._inflater.eof:
            compressed = self._left or next(self._compressed, b"")
            if not compressed:
                break
            part = self._inflater.decompress(compressed, count)
            self._left = self._inflater.unconsumed_tail
            self._checksum = zlib.adler32(part, self._checksum)
            count -= len(part)
            parts.append(part)
        return b"".join(parts)

    def end_notes(self) -> list[str]:
        """Return notes on what follows the last row: nothing but the right checksum should."""
        if self.read(1):
            return [SURPLUS]
        stored = self._inflater.unused_data
        while len(stored) < 4 and (more := next(self._compressed, b"")):
            stored += more
        if len(stored) < 4:
            raise Refused("its compressed pixels stop before their checksum: the file was cut short")
        is_right = int.from_bytes(stored[:4], "big") == self._checksum
        is_last = len(stored) == 4 and not next(self._compressed, b"")
        return [*([] if is_right else [WRONG_CHECKSUM]), *([] if is_last else [SURPLUS])]


def _compressed(file: BinaryIO, pieces: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    for offset, size in pieces:
        file.seek(offset)
        while size:
            data = file.read(min(size, _PIECE_BYTES))
            if not data:
                return
            size -= len(data)
            yield data


@contextmanager
def noted_by_libpng() -> Iterator[list[str]]:
    """Collect what libpng says within, on this thread, as notes.

    imagecodecs passes it to a logger; without a handler it would go to stderr.
    """
    notes: list[str] = []
    thread = threading.get_ident()

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note = next((note for words, note in _NOTES.items() if words in record.getMessage()), "")
            if record.thread == thread and note and note not in notes:
                notes.append(note)

    logger, collector = logging.getLogger("imagecodecs"), Collector()
    logger.addHandler(collector)
    try:
        yield notes
    finally:
        logger.removeHandler(collector)


def _small_png(head: bytes, transparent: bytes | None, rows: int, raw: bytes) -> bytes:
    """Return a PNG of `head`, with another number of rows, and of rows that are not compressed."""
    header = head[16:20] + struct.pack(">I", rows) + head[24:29]
    parts = [head[:8], png_chunk(b"IHDR", header), head[HEADER_END:]]
    if transparent is not None:
        parts.append(png_chunk(b"tRNS", transparent))
    parts += [png_chunk(b"IDAT", zlib.compress(raw, 0)), png_chunk(b"IEND", b"")]
    return b"".join(parts)
