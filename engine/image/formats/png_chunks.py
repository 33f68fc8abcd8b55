"""The chunks of a PNG: its header, where its pixels lie, and what else is read of it."""

import struct
import zlib
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

import numpy as np

from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.metadata import listed, unique

SIGNATURE_BYTES = 8
PALETTE = 3
METRES_PER_INCH = 0.0254
HEADER_END = 33  # signature, length, type, 13 bytes of header, checksum

# Colour type -> (channels, legal depths), table 11.1 of the PNG specification.
_COLOUR_TYPES: dict[int, tuple[int, tuple[int, ...]]] = {
    0: (1, (1, 2, 4, 8, 16)),
    2: (3, (8, 16)),
    3: (3, (1, 2, 4, 8)),
    4: (2, (8, 16)),
    6: (4, (8, 16)),
}

_READ_BYTES = 2**20

# The chunks that are read here, and the most that is kept of those that may have any size.
# Keywords of texts that may hold an orientation.
RAW_EXIF, XMP_TEXT = b"Raw profile type exif", b"XML:com.adobe.xmp"
_CRITICAL = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_OF_ANY_SIZE = (*_TEXTS, b"iCCP", b"eXIf")
_READ_HERE = (*_OF_ANY_SIZE, b"PLTE", b"tRNS", b"acTL", b"pHYs", b"IEND")
_MAX_KEPT_BYTES = 64 * 2**20
_MAX_SMALL_BYTES = 1024  # a palette has 768
# Programs write pixels in chunks of 8 KB or more; those of a few bytes are for small pictures.
_MOST_CHUNKS, _LEAST_BYTES_OF_CHUNK = 10_000, 128
_KEYWORD_BYTES = 79

# What no saved picture keeps. A colour profile says more than those of `_BELOW_PROFILE`.
_BELOW_PROFILE = frozenset((b"gAMA", b"cHRM", b"sRGB"))
_NOT_KEPT = _BELOW_PROFILE | {
    b"cICP", b"mDCV", b"cLLI", b"sBIT", b"bKGD", b"sPLT", b"oFFs", b"pCAL", b"sCAL", b"caBX",
}  # fmt: skip
# Kept as EXIF data, and what the writer of a file is called.
_OF_NO_WORD = (RAW_EXIF, b"Software")


class Header(NamedTuple):
    """The IHDR chunk."""

    width: int
    height: int
    depth: int
    colour_type: int

    @property
    def raw_bytes(self) -> int:
        """Bytes that the compressed pixels inflate to, at least: a palette has an index per pixel."""
        channels = 1 if self.colour_type == PALETTE else _COLOUR_TYPES[self.colour_type][0]
        return self.width * self.height * channels * self.depth // 8

    def form(self, has_alpha: bool) -> Form:
        """Return the form of the picture."""
        channels = 1 if self.colour_type in (0, 4) else 3
        dtype = np.dtype(np.uint16 if self.depth == 16 else np.uint8)
        return Form(self.height, self.width, channels, has_alpha, dtype)


@dataclass(slots=True)
class Chunks:
    """What the walk over the chunks found.

    `pixels` is where chunks of compressed pixels begin and end, `pixel_bytes` how many they hold. `extras` is
    the content of those that are read here, `texts` are chunks with EXIF or XMP data. `not_kept` are kinds of
    chunks that no saved picture keeps, `keywords` are of the texts.
    """

    pixels: list[tuple[int, int]] = field(default_factory=list)
    pixel_bytes: int = 0
    extras: dict[bytes, bytes] = field(default_factory=dict)
    texts: list[bytes] = field(default_factory=list)
    not_kept: dict[bytes, None] = field(default_factory=dict)
    keywords: dict[bytes, None] = field(default_factory=dict)


def read_header(head: bytes) -> Header:
    """Read the signature and the first chunk; raise Refused for what no PNG has."""
    if len(head) < HEADER_END:
        raise Refused(f"it ends after {len(head)} bytes, within its header")
    length, kind = struct.unpack(">I4s", head[SIGNATURE_BYTES:16])
    if kind != b"IHDR" or length != 13:
        raise Refused("its first chunk is not a PNG header")
    if zlib.crc32(head[12:29]) != struct.unpack(">I", head[29:33])[0]:
        raise Refused("the checksum of its header is wrong: the file is damaged")
    width, height, depth, colour_type = struct.unpack(">IIBB", head[16:26])
    if colour_type not in _COLOUR_TYPES:
        raise Refused(f"its header names colour type {colour_type}, which PNG does not have")
    if depth not in _COLOUR_TYPES[colour_type][1]:
        raise Refused(f"its header names {depth} bits for colour type {colour_type}, which PNG does not have")
    return Header(width, height, depth, colour_type)


def checked_chunks(file: BinaryIO, file_bytes: int, max_bytes: int) -> Chunks:
    """Walk over all chunks; each checksum is verified (1 GB/s).

    Of texts and other metadata no more is kept than a quarter of the limit on memory, `max_bytes`.
    """
    chunks = Chunks()
    left = min(_MAX_KEPT_BYTES, max_bytes // 4)
    most = count = _MOST_CHUNKS + file_bytes // _LEAST_BYTES_OF_CHUNK
    position = SIGNATURE_BYTES
    while position + 12 <= file_bytes:
        count -= 1
        if count < 0:
            raise Refused(f"it is cut into more than {most:,} chunks")
        file.seek(position)
        head = file.read(8)
        length, kind = struct.unpack(">I4s", head)
        end = position + 8 + length
        if end + 4 > file_bytes:
            break
        is_kept = kind in _READ_HERE and length <= (left if kind in _OF_ANY_SIZE else _MAX_SMALL_BYTES)
        content, checksum = _content(file, length, zlib.crc32(kind), keep=is_kept)
        if kind in _OF_ANY_SIZE:
            left -= len(content)
        if checksum != struct.unpack(">I", file.read(4))[0]:
            name = kind.decode("latin-1")
            raise Refused(f"the checksum of its {name!r} chunk is wrong: the file is damaged")
        if kind == b"IDAT":
            chunks.pixel_bytes += length
            begin, before = chunks.pixels.pop() if chunks.pixels else (position, position)
            if before < position:
                chunks.pixels.append((begin, before))
                begin = position
            chunks.pixels.append((begin, end + 4))
        elif kind[:1].isupper() and kind not in _CRITICAL:
            raise Refused(f"it has a chunk that decides on its pixels and that nobody knows ({kind!r})")
        elif kind in _TEXTS:
            keyword = content.partition(b"\0")[0][:_KEYWORD_BYTES]
            chunks.keywords[keyword] = None
            if keyword in (RAW_EXIF, XMP_TEXT):
                chunks.texts.append(png_chunk(kind, content))
        elif is_kept:
            chunks.extras.setdefault(kind, content)
        elif kind in _NOT_KEPT:
            chunks.not_kept[kind] = None
        if kind == b"IEND":
            break
        position = end + 4
    if b"IEND" not in chunks.extras:
        raise Refused(f"it ends after {file_bytes:,} bytes, before its last chunk: the file was cut short")
    if not chunks.pixel_bytes:
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


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk with its length and checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def left_out_of_png(chunks: Chunks, has_profile: bool) -> tuple[str, ...]:
    """Return the names of chunks that no saved picture keeps, and the keywords of the texts."""
    names = [kind.decode() for kind in chunks.not_kept if not (has_profile and kind in _BELOW_PROFILE)]
    texts = [
        "".join(filter(str.isprintable, keyword.decode("latin-1")))
        for keyword in chunks.keywords
        if keyword not in _OF_NO_WORD
    ]
    return (*names, *((f"texts ({listed(unique(texts))})",) if texts else ()))
