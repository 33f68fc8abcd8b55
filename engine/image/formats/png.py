"""PNG: the chunks are checked here, the pixels decoded by imagecodecs (libpng), texts by Pillow.

Pillow cuts 16-bit RGB to 8 bit and decodes the whole picture to find an EXIF chunk that follows the pixels;
libpng only warns of a wrong checksum outside the pixels. So the walk over the chunks is ours, and libpng is
given only those that decide on the pixels.
"""

import io
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from typing import BinaryIO, NamedTuple, cast

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.faults import LIBRARY_ERRORS, Refused, said_by_imagecodecs
from engine.image.format import Allocate, Budget, Canvas, Decoded, Form, Format, bands_of, check_long_enough
from engine.image.formats.pillow import opened_with_pillow, orientation_of
from engine.image.formats.png_bytes import METRES_PER_INCH, png_bytes, png_chunk
from engine.image.metadata import listed, metadata_of, note_of_first, orientation_of_exif, unique
from engine.image.picture import Picture

SIGNATURE_BYTES = 8
PALETTE = 3
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


def left_out_of_png(chunks: Chunks, has_profile: bool) -> tuple[str, ...]:
    """Return the names of chunks that no saved picture keeps, and the keywords of the texts."""
    names = [kind.decode() for kind in chunks.not_kept if not (has_profile and kind in _BELOW_PROFILE)]
    texts = [
        "".join(filter(str.isprintable, keyword.decode("latin-1")))
        for keyword in chunks.keywords
        if keyword not in _OF_NO_WORD
    ]
    return (*names, *((f"texts ({listed(unique(texts))})",) if texts else ()))


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
        cast("BufferedReader", file).readinto(memoryview(data)[offset : offset + last - first])
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
