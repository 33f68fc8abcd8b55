"""PNG: the chunks are checked in `png_chunks`, the pixels decoded in `png_pixels`.

Pillow cuts 16-bit RGB to 8 bit and decodes the whole picture to find an EXIF chunk that follows the pixels;
libpng only warns of a wrong checksum outside the pixels. So the walk over the chunks is ours.
"""

import struct
from typing import BinaryIO

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.left_out import left_out_of_png
from engine.image.metadata import (
    MOST_INFLATED,
    exif_of_text,
    inflated,
    metadata_of,
    most_text_bytes,
    note_of_first,
    orientation_of_exif,
)
from engine.image.png_chunks import HEADER_END, METRES_PER_INCH, checked_chunks, read_header
from engine.image.png_pixels import decode_pixels

# libpng wants the whole file in memory: half of what the pixels of a photograph take, and up to all of that.
# Smaller files are not counted.
_COUNTED_BYTES = 64 * 2**20


def read_png(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a PNG exactly: palette and transparency expanded, 1, 2 and 4 bit scaled to 8."""
    head = file.read(HEADER_END)
    header = read_header(head)
    file_bytes = file.seek(0, 2)
    # A tRNS chunk may add alpha to colour types 0, 2 and 3; the one channel more is counted at once.
    might_be = header.form(has_alpha=True)
    budget.check(might_be, file_bytes if file_bytes > _COUNTED_BYTES else 0)
    least_bytes = header.raw_bytes // MOST_INFLATED
    check_long_enough(might_be, file_bytes, least_bytes)
    most_text = most_text_bytes(budget.max_bytes)
    chunks = checked_chunks(file, file_bytes, budget.max_bytes)
    check_long_enough(might_be, sum(size for _, size in chunks.pixels), least_bytes)
    extras = chunks.extras
    exif = extras.get(b"eXIf", b"")
    orientation = orientation_of_exif(exif)
    if not orientation:
        orientation, exif_text = exif_of_text(chunks.texts, most_text)
        exif = exif or exif_text
    form = header.form(has_alpha=b"tRNS" in extras or header.colour_type in (4, 6))
    canvas = Canvas(form, orientation, allocate)
    notes = decode_pixels(file, head, header, chunks, canvas, budget)
    frames = struct.unpack(">I", extras[b"acTL"][:4])[0] if len(extras.get(b"acTL", b"")) >= 4 else 1
    # Name, NUL, method, deflated profile.
    profile = inflated(extras.get(b"iCCP", b"").partition(b"\0")[2][1:], most_text) or None
    left_out = left_out_of_png(chunks.named, chunks.keywords, profile is not None)
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
