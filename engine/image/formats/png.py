"""PNG: the chunks are checked in `png_chunks`, the pixels decoded by imagecodecs (libpng), texts by Pillow.

Pillow cuts 16-bit RGB to 8 bit and decodes the whole picture to find an EXIF chunk that follows the pixels;
libpng only warns of a wrong checksum outside the pixels. So the walk over the chunks is ours, and libpng is
given only those that decide on the pixels.
"""

import io
import struct
import zlib
from collections.abc import Callable, Sequence
from io import BufferedReader
from typing import BinaryIO, cast

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import LIBRARY_ERRORS, Refused, said_by_imagecodecs
from engine.image.form import Budget, check_long_enough
from engine.image.format import Format
from engine.image.formats.pillow import opened_with_pillow, orientation_of
from engine.image.formats.png_chunks import (
    HEADER_END,
    METRES_PER_INCH,
    PALETTE,
    RAW_EXIF,
    Chunks,
    Header,
    checked_chunks,
    left_out_of_png,
    png_chunk,
    read_header,
)
from engine.image.formats.png_encode import png_bytes
from engine.image.metadata import metadata_of, note_of_first, orientation_of_exif
from engine.image.picture import Picture
from engine.image.scratch import bands_of

# libpng wants the whole file in memory: half of what the pixels of a photograph take, and up to all of that.
# Smaller files are not counted.
_COUNTED_BYTES = 64 * 2**20
# 258 bytes for two bits: the most that deflate makes of anything.
_MOST_INFLATED = 1032
# Texts and profiles are some kB; what is longer is none. While a text is read, it is held in several forms.
_MAX_TEXT_BYTES, _TEXT_SHARE = 16 * 2**20, 16
_HEAD_OF_ONE_PIXEL = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))

SURPLUS = "Its compressed pixels go on after its last row; what follows was left out."


def read_png(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a PNG exactly: palette and transparency expanded, 1, 2 and 4 bit scaled to 8."""
    head = file.read(HEADER_END)
    header = read_header(head)
    file_bytes = file.seek(0, 2)
    # A tRNS chunk may add alpha to colour types 0, 2 and 3; the one channel more is counted at once.
    might_be = header.form(has_alpha=True)
    budget.check(might_be, file_bytes if file_bytes > _COUNTED_BYTES else 0)
    least_bytes = header.raw_bytes // _MOST_INFLATED
    check_long_enough(might_be, file_bytes, least_bytes)
    chunks = checked_chunks(file, file_bytes, budget.max_bytes)
    check_long_enough(might_be, chunks.pixel_bytes, least_bytes)
    extras = chunks.extras
    exif = extras.get(b"eXIf", b"")
    orientation = orientation_of_exif(exif)
    most_text = min(_MAX_TEXT_BYTES, budget.max_bytes // _TEXT_SHARE)
    if not orientation and chunks.texts:
        orientation, exif_text = _exif_of_texts(chunks.texts, most_text)
        exif = exif or exif_text
    form = header.form(has_alpha=b"tRNS" in extras or header.colour_type in (4, 6))
    canvas = Canvas(form, orientation, allocate)
    notes = _decode_pixels(file, head, header, chunks, canvas)
    frames = struct.unpack(">I", extras[b"acTL"][:4])[0] if len(extras.get(b"acTL", b"")) >= 4 else 1
    # Name, NUL, method, deflated profile.
    profile = _inflated_whole(extras.get(b"iCCP", b"").partition(b"\0")[2][1:], most_text) or None
    left_out = left_out_of_png(chunks, profile is not None)
    return Decoded(
        canvas,
        icc_profile=profile,
        notes=(*notes, *note_of_first(frames, "frame")),
        metadata=metadata_of(exif, _dpi(extras.get(b"pHYs", b"")), left_out),
    )


def _dpi(chunk: bytes) -> tuple[float, float] | None:
    """Return pixels per inch in a pHYs chunk; None where it has only the shape of a pixel."""
    if len(chunk) != 9 or chunk[8] != 1:
        return None
    across, down = struct.unpack(">II", chunk[:8])
    return across * METRES_PER_INCH, down * METRES_PER_INCH


def _exif_of_texts(texts: list[bytes], most_bytes: int) -> tuple[int, bytes]:
    """Return the orientation in texts, of EXIF data (ImageMagick's) or XMP (Adobe's), and that data.

    Pillow reads them, in a PNG of one pixel. 0: none, or longer than `most_bytes` all together.
    """
    pixel = png_chunk(b"IDAT", zlib.compress(bytes(2)))
    data = b"".join((_HEAD_OF_ONE_PIXEL, *texts, pixel, png_chunk(b"IEND", b"")))
    if len(data) > most_bytes:
        return 0, b""
    try:
        with opened_with_pillow(io.BytesIO(data), "PNG", most_bytes) as image:
            block = image.getexif().tobytes() if RAW_EXIF.decode() in image.info else b""
            return orientation_of(image), block
    except LIBRARY_ERRORS:
        return 0, b""


def _inflated_whole(data: bytes, most_bytes: int) -> bytes:
    """Return what data inflates to; nothing where it is damaged or inflates further."""
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(data, most_bytes)
    except zlib.error:
        return b""
    return content if inflater.eof else b""


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


def _decode_pixels(file: BinaryIO, head: bytes, header: Header, chunks: Chunks, canvas: Canvas) -> list[str]:
    """Decode the pixels of a PNG onto a canvas; return notes. `head` is the signature and the IHDR chunk."""
    palette, notes = None, list[str]()
    if header.colour_type == PALETTE:
        palette = _PastTheEnd(header, chunks.extras.get(b"PLTE", b""))
        head += palette.chunk
    if b"tRNS" in chunks.extras:
        head += png_chunk(b"tRNS", chunks.extras[b"tRNS"])
    data = _joined(file, head, chunks.pixels, png_chunk(b"IEND", b""))

    def decode(out: np.ndarray) -> None:
        imagecodecs.png_decode(data, out=out)
        if palette is not None:
            notes.extend(palette.blacken(out))

    with said_by_imagecodecs() as said:
        canvas.decode_into(decode)
    # That an interlaced file is read at once says libpng too.
    goes_on = any("Too much image data" in text or "Extra compressed data" in text for text in said)
    return [SURPLUS, *notes] if goes_on else notes


def _joined(file: BinaryIO, head: bytes, pieces: Sequence[tuple[int, int]], end: bytes) -> bytearray:
    """Return `head`, parts of a file (where each begins and ends), and `end`."""
    data = bytearray(len(head) + sum(last - first for first, last in pieces) + len(end))
    data[: len(head)], offset = head, len(head)
    for first, last in pieces:
        file.seek(first)
        cast(BufferedReader, file).readinto(memoryview(data)[offset : offset + last - first])
        offset += last - first
    data[offset:] = end
    return data


def encode_png(
    picture: Picture, quality: int, done: Callable[[np.ndarray], None] = lambda rows: None
) -> memoryview:
    """Encode at 8 or 16 bit, with the colour profile and the metadata; `done` as of `png_bytes`."""
    profile, metadata = picture.icc_profile, picture.metadata
    return png_bytes(picture.pixels, profile, metadata, alpha=picture.alpha, done=done)


PNG = Format(
    "PNG",
    suffixes=(".png", ".apng"),
    signatures=(b"\x89PNG\r\n\x1a\n",),
    decode=read_png,
    encode=encode_png,
    reads_once=True,
    saved_suffixes=(".png",),
    dtypes=(np.uint8, np.uint16),
    most_exif_bytes=2**31 - 1,
    encoder_copies=1,  # the differences of its rows
)
