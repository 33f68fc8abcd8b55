"""The chunks of a PNG: its header, where its pixels lie, and what else is read of it."""

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

import numpy as np

from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.metadata import IPTC, XMP, listed, unique

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
RAW_EXIF = (b"Raw profile type exif", b"Raw profile type APP1")
XMP_TEXTS = (b"Raw profile type xmp", b"XML:com.adobe.xmp")
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_OF_ANY_SIZE = (*_TEXTS, b"iCCP", b"eXIf")
_READ_HERE = (*_OF_ANY_SIZE, b"PLTE", b"tRNS", b"acTL", b"pHYs", b"IEND")
_MAX_KEPT_BYTES = 64 * 2**20
_MAX_SMALL_BYTES = 1024  # a palette has 768
# Programs write pixels in chunks of 8 KB or more; those of a few bytes are for small pictures.
_MOST_CHUNKS, _LEAST_BYTES_OF_CHUNK = 10_000, 128
_KEYWORD_BYTES = 79

# Chunks of a PNG. A colour profile says more than those of `_BELOW_PROFILE`, which then count for nothing.
_BELOW_PROFILE = {b"gAMA": "gamma (gAMA)", b"cHRM": "primaries (cHRM)", b"sRGB": "sRGB mark (sRGB)"}
_CHUNKS = {
    b"cICP": "colour space (cICP)", b"mDCV": "colours of the screen (mDCV)", b"cLLI": "brightness (cLLI)",
    b"sBIT": "significant bits (sBIT)", b"bKGD": "background colour (bKGD)", b"sPLT": "palette (sPLT)",
    b"oFFs": "position (oFFs)", b"pCAL": "scale (pCAL)", b"sCAL": "scale (sCAL)",
    b"caBX": "credentials (caBX)",
}  # fmt: skip
NAMED_CHUNKS = frozenset((*_BELOW_PROFILE, *_CHUNKS))
_KEYWORDS = {
    b"XML:com.adobe.xmp": XMP, b"Raw profile type xmp": XMP, b"Raw profile type iptc": IPTC,
    b"Raw profile type 8bim": IPTC,
    # Kept as EXIF data, and what the writer of a file is called.
    b"Raw profile type exif": "", b"Raw profile type APP1": "", b"Software": "",
}  # fmt: skip

# Offset and step of the columns and rows of the seven pictures in an interlaced one.
_PASSES = ((0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2))


class Header(NamedTuple):
    """The IHDR chunk."""

    width: int
    height: int
    depth: int
    colour_type: int
    is_interlaced: bool

    @property
    def stored_channels(self) -> int:
        """Samples per pixel in the file: 1 for a palette's index."""
        return 1 if self.colour_type == PALETTE else _COLOUR_TYPES[self.colour_type][0]

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
class Chunks:
    """What the walk over the chunks found.

    `pixels` is where compressed pixels lie (offset, bytes), `decoded` where whole chunks lie that decide on
    them. `extras` is the content of those that are read here, `texts` type and content of texts with EXIF or
    XMP data. `named` are kinds of chunks that are not read but have a name for a note, `keywords` are of the
    texts. `has_deflated_extras` says whether a text or a profile would have to be inflated.
    """

    pixels: list[tuple[int, int]] = field(default_factory=list)
    decoded: list[tuple[int, int]] = field(default_factory=list)
    extras: dict[bytes, bytes] = field(default_factory=dict)
    texts: list[bytes] = field(default_factory=list)
    named: dict[bytes, None] = field(default_factory=dict)
    keywords: dict[bytes, None] = field(default_factory=dict)
    has_deflated_extras: bool = False


def critical_size(file: BinaryIO, file_bytes: int) -> tuple[int, int]:
    """Return width and height of a PNG within another file, whose decoder reads its texts too.

    Raises Refused where a text or a profile would have to be inflated, or where the PNG is damaged.
    """
    header = read_header(file.read(HEADER_END))
    chunks = checked_chunks(file, file_bytes)
    if chunks.has_deflated_extras:
        raise Refused("a PNG in it holds texts or a colour profile")
    return header.width, header.height


def read_header(head: bytes) -> Header:
    """Read the signature and the first chunk; raise Refused for what no PNG has."""
    if len(head) < HEADER_END:
        raise Refused(f"it ends after {len(head)} bytes, within its header")
    length, kind = struct.unpack(">I4s", head[SIGNATURE_BYTES:16])
    if kind != b"IHDR" or length != 13:
        raise Refused("its first chunk is not a PNG header")
    if zlib.crc32(head[12:29]) != struct.unpack(">I", head[29:33])[0]:
        raise Refused("the checksum of its header is wrong: the file is damaged")
    width, height, depth, colour_type, _, _, interlace = struct.unpack(">IIBBBBB", head[16:29])
    if colour_type not in _COLOUR_TYPES:
        raise Refused(f"its header names colour type {colour_type}, which PNG does not have")
    if depth not in _COLOUR_TYPES[colour_type][1]:
        raise Refused(f"its header names {depth} bits for colour type {colour_type}, which PNG does not have")
    return Header(width, height, depth, colour_type, interlace == 1)


def checked_chunks(file: BinaryIO, file_bytes: int, max_bytes: int | None = None) -> Chunks:
    """Walk over all chunks; each checksum is verified (1 GB/s).

    Of texts and other metadata no more is kept than a quarter of the limit on memory, `max_bytes`.
    """
    chunks = Chunks()
    left = _MAX_KEPT_BYTES if max_bytes is None else min(_MAX_KEPT_BYTES, max_bytes // 4)
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
            chunks.pixels.append((position + 8, length))
        elif kind in _TEXTS:
            chunks.keywords[content.partition(b"\0")[0][:_KEYWORD_BYTES]] = None
            if is_kept and content.partition(b"\0")[0] in (*RAW_EXIF, *XMP_TEXTS):
                chunks.texts.append(kind + content)
        elif is_kept:
            chunks.extras.setdefault(kind, content)
        elif kind in NAMED_CHUNKS:
            chunks.named[kind] = None
        chunks.has_deflated_extras |= kind in (b"zTXt", b"iTXt", b"iCCP")
        # What is critical (a capital letter), known to libpng or not, and what makes transparent.
        if kind != b"IHDR" and (kind[:1].isupper() or kind == b"tRNS"):
            begin, size = chunks.decoded[-1] if chunks.decoded else (0, 0)
            if chunks.decoded and begin + size == position:
                chunks.decoded[-1] = begin, size + 12 + length
            else:
                chunks.decoded.append((position, 12 + length))
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


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk with its length and checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def left_out_of_png(chunks: Iterable[bytes], keywords: Iterable[bytes], has_profile: bool) -> tuple[str, ...]:
    """Return the names for kinds of chunks of a PNG, and for the keywords of its texts."""
    names = _CHUNKS if has_profile else _CHUNKS | _BELOW_PROFILE
    found = [names[kind] for kind in chunks if kind in names]
    texts = []
    for keyword in keywords:
        if keyword in _KEYWORDS:
            found.append(_KEYWORDS[keyword])
        else:
            texts.append("".join(filter(str.isprintable, keyword.decode("latin-1"))))
    return unique([*found, *([f"texts ({listed(unique(texts))})"] if texts else [])])
