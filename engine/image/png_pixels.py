"""The pixels of a PNG, by imagecodecs (libpng), which is given only the chunks that decide on them."""

import zlib
from collections.abc import Sequence
from io import BufferedReader
from typing import BinaryIO, cast

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.budget import Budget
from engine.image.canvas import Canvas
from engine.image.faults import Refused
from engine.image.library_warnings import said_by_imagecodecs
from engine.image.png_chunks import PALETTE, Chunks, Header, png_chunk
from engine.image.scratch import bands_of

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


def decode_pixels(
    file: BinaryIO, head: bytes, header: Header, chunks: Chunks, canvas: Canvas, budget: Budget
) -> list[str]:
    """Decode the pixels of a PNG onto a canvas; return notes. `head` is the signature and the IHDR chunk."""
    pieces, transparent = chunks.decoded, chunks.extras.get(b"tRNS")
    opacity = b"" if transparent is None else png_chunk(b"tRNS", transparent)
    palette = None
    if header.colour_type == PALETTE:
        palette = _PastTheEnd(header, chunks.extras.get(b"PLTE", b""))
        head += palette.chunk + opacity
        pieces, opacity = [(begin - 8, size + 12) for begin, size in chunks.pixels], b""
    end = png_chunk(b"IEND", b"")
    data = _joined(file, head, pieces, end)
    notes: list[str] = []

    def decode(out: np.ndarray) -> None:
        try:
            imagecodecs.png_decode(data, out=out)
        except imagecodecs.PngError as error:
            if _CHECKSUM not in str(error):
                raise
            form = header.form(has_alpha=canvas.alpha is not None)
            budget.check(form, 2 * len(data) + 3 * header.raw_bytes)
            raw, goes_on = _inflated(_joined(file, b"", chunks.pixels, b""), header.raw_bytes)
            notes.extend([WRONG_CHECKSUM, SURPLUS] if goes_on else [WRONG_CHECKSUM])
            stored = png_chunk(b"IDAT", zlib.compress(raw, 0))
            imagecodecs.png_decode(b"".join((head, opacity, stored, end)), out=out)
        if palette is not None:
            notes.extend(palette.blacken(out))

    with said_by_imagecodecs() as said:
        canvas.decode_into(decode)
    return list(dict.fromkeys([*notes_of_libpng(said), *notes]))


def _joined(file: BinaryIO, head: bytes, pieces: Sequence[tuple[int, int]], end: bytes) -> bytearray:
    """Return `head`, parts of a file (offset, bytes), and `end`."""
    data = bytearray(len(head) + sum(size for _, size in pieces) + len(end))
    data[: len(head)], offset = head, len(head)
    for begin, size in pieces:
        file.seek(begin)
        cast(BufferedReader, file).readinto(memoryview(data)[offset : offset + size])
        offset += size
    data[offset:] = end
    return data


def _inflated(compressed: bytearray, count: int) -> tuple[bytes, bool]:
    """Return the first bytes that pixels inflate to, whatever their checksum; whether anything follows."""
    # Without zlib's frame of 2 and 4 bytes: it would keep back the last bytes where the checksum is wrong.
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    raw = inflater.decompress(memoryview(compressed)[2:], count)
    more = inflater.decompress(inflater.unconsumed_tail, 1)
    return raw, bool(more) or len(inflater.unused_data) > 4


def notes_of_libpng(said: Sequence[str]) -> list[str]:
    """Return notes on what libpng says."""
    return list(dict.fromkeys(note for text in said for words, note in _NOTES.items() if words in text))
