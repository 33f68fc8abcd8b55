"""The pixels of a PNG, decoded by imagecodecs (libpng), which is given only the chunks that decide on them.

libpng wants the whole file in memory, which of a photograph is half, and of noise all of what the pixels
take. So large files are decoded in bands: rows are inflated here, and libpng undoes the filters of a small
PNG each.
"""

import logging
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.image.budget import Budget
from engine.image.canvas import Canvas
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.png_chunks import Chunks, Header, png_chunk
from engine.image.scratch import Scratch, bands, bands_of

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


class Palette:
    """The colours of a palette for each value that libpng gives an index as grey of 8 bit."""

    def __init__(self, header: Header, extras: Mapping[bytes, bytes]) -> None:
        colours, opacity = extras.get(b"PLTE", b""), extras.get(b"tRNS", b"")
        count = len(colours) // 3
        if not colours or len(colours) % 3 or count > 2**header.depth:
            raise Refused(
                f"its palette has {len(colours):,} bytes, which is no number of colours it may have"
            )
        if len(opacity) > count:
            raise Refused(f"it names the opacity of {len(opacity)} of its {count} colours")
        step = 255 // (2**header.depth - 1)
        # What is past the end is black, as libpng has it.
        self._colours = np.zeros((256, 3), np.uint8)
        self._colours[: step * count : step] = np.frombuffer(colours, np.uint8).reshape(-1, 3)
        self._opacity = np.full(256, 255, np.uint8) if opacity else None
        if self._opacity is not None:
            self._opacity[: step * len(opacity) : step] = np.frombuffer(opacity, np.uint8)
        self._last = step * (count - 1)
        self._beyond = 0

    def put(self, indices: NDArray[np.uint8], canvas: Canvas) -> None:
        """Put the colours of all pixels on a canvas."""
        for rows in bands_of(indices):
            part = indices[rows]
            if self._last < 255:
                self._beyond += int(np.count_nonzero(part > self._last))
            opacity = None if self._opacity is None else self._opacity[part]
            canvas.put(rows, self._colours[part], opacity)

    def notes(self) -> list[str]:
        """Return a note where pixels name colours that the palette has not."""
        if not self._beyond:
            return []
        pixels = "1 pixel names a colour" if self._beyond == 1 else f"{self._beyond:,} pixels name colours"
        return [f"{pixels} past the end of its palette, and became black."]


def decode_at_once(
    file: BinaryIO,
    head: bytes,
    header: Header,
    chunks: Chunks,
    canvas: Canvas,
    palette: Palette | None,
    budget: Budget,
) -> list[str]:
    """Decode the pixels of a PNG onto a canvas; return notes. `head` is the signature and the IHDR chunk."""
    import imagecodecs

    pieces, transparent = chunks.decoded, chunks.extras.get(b"tRNS")
    if palette is not None:
        # As grey, so that the indices are known.
        head = head[:8] + png_chunk(b"IHDR", head[16:25] + b"\0" + head[26:29])
        pieces, transparent = [(begin - 8, size + 12) for begin, size in chunks.pixels], None
    data = _joined(file, head, pieces)

    def decode(out: NDArray[Any]) -> None:
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

    with noted_by_libpng() as notes:
        if palette is None:
            canvas.decode_into(decode)
        else:
            indices = Scratch((header.height, header.width), np.uint8)
            decode(indices.array)
            palette.put(indices.array, canvas)
    return notes


def _joined(file: BinaryIO, head: bytes, pieces: Sequence[tuple[int, int]]) -> bytearray:
    """Return a PNG of `head`, parts of a file (offset, bytes), and an end."""
    end = png_chunk(b"IEND", b"")
    data = bytearray(len(head) + sum(size for _, size in pieces) + len(end))
    data[: len(head)], place = head, len(head)
    for begin, size in pieces:
        file.seek(begin)
        file.readinto(memoryview(data)[place : place + size])
        place += size
    data[place:] = end
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
    header = head[16:20] + struct.pack(">I", rows) + head[24:29]
    parts = [head[:8], png_chunk(b"IHDR", header)]
    if transparent is not None:
        parts.append(png_chunk(b"tRNS", transparent))
    parts += [png_chunk(b"IDAT", zlib.compress(raw, 0)), png_chunk(b"IEND", b"")]
    return b"".join(parts)
