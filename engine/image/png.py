"""PNG: the chunks are read and checked here, the pixels are decoded by imagecodecs (libpng).

Pillow cuts 16-bit RGB to 8 bit and decodes the whole picture to find an EXIF chunk that follows the pixels;
libpng only warns of a wrong checksum outside the pixels, and wants the whole file in memory, which of a
photograph is half, and of noise all of what the pixels take. So the walk over the chunks is ours, and large
files are decoded in bands: rows are inflated here, and libpng undoes the filters of a small PNG each.
"""

import logging
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.metadata import (
    inflated,
    is_raw_exif,
    named_metadata,
    note_of_first,
    orientation_of_exif,
    orientation_of_text,
)
from engine.image.scratch import bands

_SIGNATURE_BYTES = 8
_PALETTE = 3
_IHDR_END = 33  # signature, length, type, 13 bytes of header, checksum

# Colour type -> (channels, legal depths), table 11.1 of the PNG specification.
_COLOUR_TYPES: dict[int, tuple[int, tuple[int, ...]]] = {
    0: (1, (1, 2, 4, 8, 16)),
    2: (3, (8, 16)),
    3: (3, (1, 2, 4, 8)),
    4: (2, (8, 16)),
    6: (4, (8, 16)),
}

# A profile is some kB; one that inflates further is not a profile.
_MAX_PROFILE_BYTES = 64 * 2**20

# Files up to this size are held while they are decoded, larger ones are read and decoded in bands, which
# takes half as long again.
_HELD_BYTES = 64 * 2**20
_READ_BYTES = 2**20
_PIECE_BYTES = 64 * 2**10

# 258 bytes for two bits: the most that deflate makes of anything.
_MOST_INFLATED = 1032

# Offset and step of the columns and rows of the seven pictures in an interlaced one.
_PASSES = ((0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2))


class _Header(NamedTuple):
    """The IHDR chunk."""

    width: int
    height: int
    depth: int
    colour_type: int
    is_interlaced: bool

    @property
    def stored_channels(self) -> int:
        """Samples per pixel in the file: 1 for a palette's index."""
        return 1 if self.colour_type == _PALETTE else _COLOUR_TYPES[self.colour_type][0]

    @property
    def raw_bytes(self) -> int:
        """Bytes that the compressed pixels inflate to: rows, each with a byte for its filter."""
        passes = _PASSES if self.is_interlaced else ((0, 1, 0, 1),)
        sizes = [
            (-(-(self.width - left) // across), -(-(self.height - top) // down))
            for left, across, top, down in passes
        ]
        bits = self.depth * self.stored_channels
        return sum(
            rows * (1 + -(-columns * bits // 8)) for columns, rows in sizes if columns > 0 and rows > 0
        )

    def form(self, has_alpha: bool) -> Form:
        """Return the form of the picture."""
        channels = 1 if self.colour_type in (0, 4) else 3
        dtype = np.dtype(np.uint16 if self.depth == 16 else np.uint8)
        return Form(self.height, self.width, channels, has_alpha, dtype)


@dataclass(slots=True)
class _Chunks:
    """Where the pixels lie (offset, bytes), and the content of all other chunks by type."""

    pixels: list[tuple[int, int]] = field(default_factory=list)
    extras: dict[bytes, bytes] = field(default_factory=dict)
    texts: list[bytes] = field(default_factory=list)


def read_png(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a PNG exactly: palette and transparency expanded, 1, 2 and 4 bit scaled to 8."""
    import imagecodecs

    # Without a handler, libpng's warnings (interlacing, too much data) go to stderr.
    logging.getLogger("imagecodecs").addHandler(logging.NullHandler())
    head = file.read(_IHDR_END)
    header = _read_header(head)
    file_bytes = file.seek(0, 2)
    is_large = file_bytes > _HELD_BYTES
    # The row above a band is known from its pixels only at whole bytes; other files are small anyway.
    is_cut = is_large and header.depth >= 8 and header.colour_type != _PALETTE and not header.is_interlaced
    # A tRNS chunk may add alpha to colour types 0, 2 and 3; the one channel more is counted at once.
    might_be = header.form(has_alpha=True)
    budget.check(might_be, file_bytes if is_large and not is_cut else 0)
    least_bytes = header.raw_bytes // _MOST_INFLATED
    check_long_enough(might_be, file_bytes, least_bytes)
    chunks = _checked_chunks(file, file_bytes)
    check_long_enough(might_be, sum(size for _, size in chunks.pixels), least_bytes)
    extras = chunks.extras
    orientation = orientation_of_exif(extras.get(b"eXIf")) or orientation_of_text(chunks.texts)
    form = header.form(has_alpha=b"tRNS" in extras or header.colour_type in (4, 6))
    canvas = Canvas(form, orientation, allocate)
    if is_cut:
        _decode_in_bands(file, head, chunks.pixels, extras.get(b"tRNS"), form, header.stored_channels, canvas)
    else:
        file.seek(0)
        data = file.read()
        canvas.decode_into(lambda out: imagecodecs.png_decode(data, out=out))
    frames = struct.unpack(">I", extras[b"acTL"][:4])[0] if len(extras.get(b"acTL", b"")) >= 4 else 1
    return Decoded(
        canvas,
        # Name, NUL, method, deflated profile.
        icc_profile=inflated(extras.get(b"iCCP", b"").partition(b"\0")[2][1:], _MAX_PROFILE_BYTES) or None,
        notes=note_of_first(frames, "frame"),
        metadata=named_metadata(
            exif=b"eXIf" in extras or any(map(is_raw_exif, chunks.texts)), dpi=_dpi(extras.get(b"pHYs", b""))
        ),
    )


def _dpi(chunk: bytes) -> float:
    """Return pixels per inch in a pHYs chunk; 0 where it has only the shape of a pixel."""
    return int.from_bytes(chunk[:4], "big") * 0.0254 if len(chunk) == 9 and chunk[8] == 1 else 0.0


def _read_header(head: bytes) -> _Header:
    if len(head) < _IHDR_END:
        raise Refused(f"it ends after {len(head)} bytes, within its header")
    length, kind = struct.unpack(">I4s", head[_SIGNATURE_BYTES:16])
    if kind != b"IHDR" or length != 13:
        raise Refused("its first chunk is not a PNG header")
    if zlib.crc32(head[12:29]) != struct.unpack(">I", head[29:33])[0]:
        raise Refused("the checksum of its header is wrong: the file is damaged")
    width, height, depth, colour_type, _, _, interlace = struct.unpack(">IIBBBBB", head[16:29])
    if colour_type not in _COLOUR_TYPES:
        raise Refused(f"its header names colour type {colour_type}, which PNG does not have")
    if depth not in _COLOUR_TYPES[colour_type][1]:
        raise Refused(f"its header names {depth} bits for colour type {colour_type}, which PNG does not have")
    return _Header(width, height, depth, colour_type, interlace == 1)


def _checked_chunks(file: BinaryIO, file_bytes: int) -> _Chunks:
    """Walk over all chunks; each checksum is verified (1 GB/s)."""
    chunks = _Chunks()
    position = _SIGNATURE_BYTES
    while position + 12 <= file_bytes:
        file.seek(position)
        head = file.read(8)
        length, kind = struct.unpack(">I4s", head)
        end = position + 8 + length
        if end + 4 > file_bytes:
            break
        content, checksum = _content(file, length, zlib.crc32(kind), keep=kind != b"IDAT")
        if checksum != struct.unpack(">I", file.read(4))[0]:
            name = kind.decode("latin-1")
            raise Refused(f"the checksum of its {name!r} chunk is wrong: the file is damaged")
        if kind == b"IDAT":
            chunks.pixels.append((position + 8, length))
        else:
            chunks.extras.setdefault(kind, content)
        if kind in (b"tEXt", b"zTXt", b"iTXt"):
            chunks.texts.append(kind + content)
        if kind == b"IEND":
            break
        position = end + 4
    if b"IEND" not in chunks.extras:
        raise Refused(f"it ends after {file_bytes:,} bytes, before its last chunk: the file was cut short")
    if not any(size for _, size in chunks.pixels):
        raise Refused("it holds no pixels (no IDAT chunk)")
    return chunks


def _content(file: BinaryIO, length: int, checksum: int, *, keep: bool) -> tuple[bytes, int]:
    """Return the content of a chunk, empty unless `keep`, and its checksum."""
    kept = []
    while length:
        piece = file.read(min(length, _READ_BYTES))
        if not piece:
            break
        checksum = zlib.crc32(piece, checksum)
        length -= len(piece)
        if keep:
            kept.append(piece)
    return b"".join(kept), checksum


def _decode_in_bands(
    file: BinaryIO,
    head: bytes,
    pieces: Sequence[tuple[int, int]],
    transparent: bytes | None,
    form: Form,
    stored_channels: int,
    canvas: Canvas,
) -> None:
    """Decode the pixels of a PNG onto a canvas.

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
            data = file.read(min(size, _PIECE_BYTES))
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
