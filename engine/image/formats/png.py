"""PNG: the chunks are checked here, the pixels decoded by imagecodecs (libpng), texts by Pillow.

Pillow cuts 16-bit RGB to 8 bit and decodes the whole picture to find an EXIF chunk that follows the pixels;
libpng only warns of a wrong checksum outside the pixels. So the walk over the chunks is ours, and libpng
gets only those that decide on the pixels.
"""

import io
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from io import BufferedReader
from typing import Any, BinaryIO, cast

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.codec_log import imagecodecs_messages
from engine.image.convert import bands, bands_of
from engine.image.faults import LIBRARY_ERRORS, Refused
from engine.image.format import Budget, Canvas, Decoded, Form, Format
from engine.image.formats.pillow import opened_with_pillow
from engine.image.metadata import loaded_exif, metadata_of, note_of_first, orientation_in, unique
from engine.image.picture import Picture

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER_END = 33  # signature, length, type, 13 bytes of header, checksum
# Colour type -> channels, and legal depths: table 11.1 of the PNG specification.
_CHANNELS, _PALETTE = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}, 3
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_METRE, _METRES_PER_INCH = 1, 0.0254


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk with its length and checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


_READ_BYTES = 2**20
# Keywords of texts that may hold an orientation.
_RAW_EXIF, _XMP_TEXT = b"Raw profile type exif", b"XML:com.adobe.xmp"
_CRITICAL = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
# The chunks that are read here, and the most that is kept of those that may have any size.
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
_OF_NO_WORD = (_RAW_EXIF, b"Software")
# Keywords that are listed; of more only the number is shown.
_MOST_LISTED = 4


class _Chunks:
    """The content of all chunks, from one walk over them; each checksum is verified (1 GB/s).

    `pixels` is where chunks of compressed pixels begin and end, `pixel_bytes` how many they hold. `extras` is
    the content of those that are read here, `texts` are chunks with EXIF or XMP data. `not_kept` are kinds of
    chunks that no saved picture keeps, `keywords` are of the texts. Of texts and other metadata no more is
    kept than a quarter of the limit on memory, `max_bytes`.
    """

    def __init__(self, file: BinaryIO, file_bytes: int, max_bytes: int) -> None:
        self.pixels: list[tuple[int, int]] = []
        self.extras: dict[bytes, bytes] = {}
        self.texts: list[bytes] = []
        self.not_kept, self.keywords = dict[bytes, None](), dict[bytes, None]()
        left, position = min(_MAX_KEPT_BYTES, max_bytes // 4), len(SIGNATURE)
        most = count = _MOST_CHUNKS + file_bytes // _LEAST_BYTES_OF_CHUNK
        self.pixel_bytes, kind = 0, b""
        while kind != b"IEND":
            count -= 1
            if count < 0:
                raise Refused(f"it is cut into more than {most:,} chunks")
            file.seek(position)
            length, kind = struct.unpack(">I4s", file.read(8).ljust(8, b"\xff"))
            end = position + 12 + length
            if end > file_bytes or (kind == b"IEND" and length > _MAX_SMALL_BYTES):
                why = f"it ends after {file_bytes:,} bytes, before its last chunk: the file was cut short"
                raise Refused(why)
            is_kept = kind in _READ_HERE and length <= (left if kind in _OF_ANY_SIZE else _MAX_SMALL_BYTES)
            content, checksum = b"", zlib.crc32(kind)
            for rest in range(length, 0, -_READ_BYTES):
                piece = file.read(min(rest, _READ_BYTES))
                checksum = zlib.crc32(piece, checksum)
                content += piece * is_kept
            left -= len(content) * (kind in _OF_ANY_SIZE)
            if checksum != struct.unpack(">I", file.read(4))[0]:
                name = kind.decode("latin-1")
                raise Refused(f"the checksum of its {name!r} chunk is wrong: the file is damaged")
            if kind == b"IDAT":
                self.pixel_bytes += length
                goes_on = self.pixels and self.pixels[-1][1] == position
                self.pixels.append((self.pixels.pop()[0] if goes_on else position, end))
            elif kind[:1].isupper() and kind not in _CRITICAL:
                raise Refused(f"it has a critical chunk of an unknown type ({kind!r})")
            elif kind in _TEXTS:
                keyword = content.partition(b"\0")[0][:_KEYWORD_BYTES]
                self.keywords[keyword] = None
                if keyword in (_RAW_EXIF, _XMP_TEXT):
                    self.texts.append(png_chunk(kind, content))
            elif is_kept:
                self.extras.setdefault(kind, content)
            elif kind in _NOT_KEPT:
                self.not_kept[kind] = None
            position = end
        if not self.pixel_bytes:
            raise Refused("it holds no pixels (no IDAT chunk)")

    def left_out(self, has_profile: bool) -> tuple[str, ...]:
        """Return the names of chunks that no saved picture keeps, and the keywords of the texts."""
        names = [kind.decode() for kind in self.not_kept if not (has_profile and kind in _BELOW_PROFILE)]
        words = [key.decode("latin-1") for key in self.keywords if key not in _OF_NO_WORD]
        texts = unique("".join(filter(str.isprintable, word)) for word in words)
        more = f" and {len(texts) - _MOST_LISTED} more" * (len(texts) > _MOST_LISTED)
        return (*names, f"texts ({', '.join(texts[:_MOST_LISTED])}{more})") if words else tuple(names)


# libpng wants the whole file in memory: half of what the pixels of a photograph take, and up to all of that.
# Smaller files are not counted.
_COUNTED_BYTES = 64 * 2**20
# 258 bytes for two bits: the most that deflate makes of anything.
_MOST_INFLATED = 1032
# Texts and profiles are some kB; what is longer is none. While a text is read, it is held in several forms.
_MAX_TEXT_BYTES, _TEXT_SHARE = 16 * 2**20, 16

SURPLUS = "Its compressed pixels go on after its last row; what follows was left out."


def read_png(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode a PNG exactly: palette and transparency expanded, 1, 2 and 4 bit scaled to 8."""
    head = file.read(_HEADER_END)
    width, height, depth, colour_type = _read_header(head)
    file_bytes, dtype = file.seek(0, 2), np.dtype(np.uint16 if depth == 16 else np.uint8)
    # A tRNS chunk may add alpha to colour types 0, 2 and 3; the one channel more is counted at once.
    form = Form(height, width, 1 if colour_type in (0, 4) else 3, True, dtype)
    budget.check(form, file_bytes if file_bytes > _COUNTED_BYTES else 0)
    # A palette has an index per pixel.
    samples = 1 if colour_type == _PALETTE else _CHANNELS[colour_type]
    least_bytes = width * height * samples * depth // 8 // _MOST_INFLATED
    form.check_long_enough(file_bytes, least_bytes)
    chunks = _Chunks(file, file_bytes, budget.max_bytes)
    form.check_long_enough(chunks.pixel_bytes, least_bytes)
    extras = chunks.extras
    exif = extras.get(b"eXIf", b"")
    orientation = orientation_in(lambda: loaded_exif(exif)) if exif else 0
    most_text = min(_MAX_TEXT_BYTES, budget.max_bytes // _TEXT_SHARE)
    if not orientation and chunks.texts:
        orientation, exif_text = _exif_of_texts(chunks.texts, most_text)
        exif = exif or exif_text
    canvas = budget.canvas(replace(form, has_alpha=b"tRNS" in extras or colour_type in (4, 6)), orientation)
    notes = _decode_pixels(file, head, 2**depth if colour_type == _PALETTE else 0, chunks, canvas)
    frames = struct.unpack(">I", extras[b"acTL"][:4])[0] if len(extras.get(b"acTL", b"")) >= 4 else 1
    profile, inflater = None, zlib.decompressobj()
    # Name, NUL, method, deflated profile; one that is damaged or inflates further counts for nothing.
    with suppress(zlib.error):
        content = inflater.decompress(extras.get(b"iCCP", b"").partition(b"\0")[2][1:], most_text)
        profile = content if content and inflater.eof else None
    density, dpi = extras.get(b"pHYs", b""), None
    if len(density) == 9 and density[8] == _METRE:  # else it has only the shape of a pixel
        across, down = struct.unpack(">II", density[:8])
        dpi = across * _METRES_PER_INCH, down * _METRES_PER_INCH
    metadata = metadata_of(exif, dpi, chunks.left_out(profile is not None))
    return Decoded(canvas, profile, (*notes, *note_of_first(frames, "frame")), metadata)


def _read_header(head: bytes) -> tuple[int, int, int, int]:
    """Return width, height, depth and colour type; refuse what no PNG has."""
    if len(head) < _HEADER_END:
        raise Refused(f"it ends after {len(head)} bytes, within its header")
    length, kind, width, height, depth, colour_type = struct.unpack_from(">I4sIIBB", head, len(SIGNATURE))
    if kind != b"IHDR" or length != 13:
        raise Refused("its first chunk is not a PNG header")
    if zlib.crc32(head[12:29]) != struct.unpack(">I", head[29:33])[0]:
        raise Refused("the checksum of its header is wrong: the file is damaged")
    if colour_type not in _DEPTHS:
        raise Refused(f"its header names colour type {colour_type}, which PNG does not have")
    if depth not in _DEPTHS[colour_type]:
        raise Refused(f"its header names {depth} bits for colour type {colour_type}, which PNG does not have")
    return width, height, depth, colour_type


def _exif_of_texts(texts: list[bytes], most_bytes: int) -> tuple[int, bytes]:
    """Return the orientation in texts, of EXIF data (ImageMagick's) or XMP (Adobe's), and that data.

    Pillow reads them, in a PNG of one pixel. 0: none, or longer than `most_bytes` all together.
    """
    head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel, end = png_chunk(b"IDAT", zlib.compress(bytes(2))), png_chunk(b"IEND", b"")
    data = b"".join((SIGNATURE, head, *texts, pixel, end))
    with suppress(*LIBRARY_ERRORS):
        if len(data) <= most_bytes:
            with opened_with_pillow(io.BytesIO(data), "PNG", most_bytes) as image:
                block = image.getexif().tobytes() if _RAW_EXIF.decode() in image.info else b""
                return orientation_in(image.getexif), block
    return 0, b""


def _decode_pixels(
    file: BinaryIO, head: bytes, palette_size: int, chunks: _Chunks, canvas: Canvas
) -> list[str]:
    """Decode the pixels of a PNG onto a canvas; return notes. `head` is the signature and the IHDR chunk."""
    past_end, count = None, 0
    if palette_size:
        colours = chunks.extras.get(b"PLTE", b"")
        missing = palette_size - len(colours) // 3
        if not colours or len(colours) % 3 or missing < 0:
            raise Refused(f"its palette of {len(colours):,} bytes has no number of colours that it may have")
        # Pixels whose index is past its end libpng shows as black without a word: it gets a palette that is
        # filled up to its full size with a colour whose red no other colour has.
        reds = frozenset(colours[::3])
        red = next((red for red in range(256) if red not in reds), 0)
        past_end = red if missing else None
        head += png_chunk(b"PLTE", colours + bytes((red, 0, 0)) * missing)
    if b"tRNS" in chunks.extras:
        head += png_chunk(b"tRNS", chunks.extras[b"tRNS"])
    end = png_chunk(b"IEND", b"")
    data = bytearray(len(head) + sum(last - first for first, last in chunks.pixels) + len(end))
    data[: len(head)], data[-len(end) :], offset = head, end, len(head)
    for first, last in chunks.pixels:
        file.seek(first)
        cast("BufferedReader", file).readinto(memoryview(data)[offset : offset + last - first])
        offset += last - first

    def decode(out: NDArray[np.uint8]) -> None:
        nonlocal count
        imagecodecs.png_decode(data, out=out)
        for rows in bands_of(out) if past_end is not None else ():
            is_past = out[rows][..., 0] == past_end
            count += int(np.count_nonzero(is_past))
            out[rows][..., 0][is_past] = 0

    with imagecodecs_messages() as messages:
        canvas.decode_into(decode)
    # That an interlaced file is read at once says libpng too.
    goes_on = any("Too much image data" in text or "Extra compressed data" in text for text in messages)
    pixels = "1 pixel names a colour" if count == 1 else f"{count:,} pixels name colours"
    past = [f"{pixels} past the end of its palette, and became black."] if count else []
    return [SURPLUS, *past] if goes_on else past


# Channels with alpha -> colour type.
_TYPES_OF_CHANNELS = {1: 0, 2: 4, 3: 2, 4: 6}
# Each byte of a row less the one above it.
_FILTER_UP = 2
# Of an IDAT chunk; before them come their number and its name, after them a checksum.
_MOST_CHUNK_BYTES = (1 << 31) - 1
_BEFORE_CONTENT, _AROUND_CHUNK = 8, 12


def encode_png(
    picture: Picture, quality: int = 100, done: Callable[[np.ndarray], None] = lambda rows: None
) -> memoryview:
    """Encode at 8 or 16 bit, with the colour profile and the metadata; `done` gets rows not read again.

    The rows are their differences to the row above, deflated by libdeflate at its first level.
    1920 x 1080 RGB takes 25 ms. libpng's own choice (zlib's level 6, the best of all filters for each row)
    takes 510 ms, and the median of 36 files has 0.96 of the size (photographs 0.8 to 1). OpenCV (runs of
    differences to the left) takes 63 ms for 1.23 times the size.
    """
    depth, metadata = 8 * picture.dtype.itemsize, picture.metadata
    colour_type = _TYPES_OF_CHANNELS[picture.channels + (picture.alpha is not None)]
    header = struct.pack(">IIBBBBB", picture.width, picture.height, depth, colour_type, 0, 0, 0)
    before = SIGNATURE + png_chunk(b"IHDR", header)
    if picture.icc_profile is not None:
        before += png_chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(picture.icc_profile))
    if metadata.dpi is not None:
        per_metre = (round(one / _METRES_PER_INCH) for one in metadata.dpi)
        before += png_chunk(b"pHYs", struct.pack(">IIB", *per_metre, _METRE))
    if metadata.exif:
        before += png_chunk(b"eXIf", metadata.exif)
    after = png_chunk(b"IEND", b"")
    filtered: Any = _differences(picture.pixels, picture.alpha, done)  # its stub knows no arrays
    # Libdeflate's blocks have 5,000 bytes or more, and 5 around them.
    most_bytes = filtered.nbytes + filtered.nbytes // 500 + 4096
    # The whole file, of which only what is written takes memory: joining its parts took that of all twice.
    file: Any = np.empty(len(before) + _AROUND_CHUNK + most_bytes + len(after), np.uint8)
    begin = len(before) + _BEFORE_CONTENT
    content = imagecodecs.deflate_encode(filtered, level=1, out=file[begin : begin + most_bytes])
    if len(content) > _MOST_CHUNK_BYTES:
        raise ValueError("its compressed pixels take more than 2 GiB")
    checksum = zlib.crc32(content, zlib.crc32(b"IDAT"))
    written, end = memoryview(file), begin + len(content)
    written[:begin] = before + struct.pack(">I", len(content)) + b"IDAT"
    written[end : end + 4 + len(after)] = struct.pack(">I", checksum) + after
    return written[: end + 4 + len(after)]


def _differences(
    image: np.ndarray, alpha: np.ndarray | None, done: Callable[[np.ndarray], None]
) -> NDArray[np.uint8]:
    """Return the rows of a PNG, (H, 1 + bytes of a row): the number of the filter, then its bytes."""
    height = len(image)
    row_bytes = (image.nbytes + (0 if alpha is None else alpha.nbytes)) // height
    filtered = np.empty((height, 1 + row_bytes), np.uint8)
    filtered[:, 0] = _FILTER_UP
    big_endian = image.dtype.newbyteorder(">")
    above = np.zeros((1, row_bytes), np.uint8)
    # In bands, so that no second picture in the other byte order, or with its alpha, is made.
    for rows in bands(height, row_bytes):
        part = image[rows] if alpha is None else np.dstack([image[rows], alpha[rows]])
        part = part.astype(big_endian, copy=False).reshape(-1, row_bytes // image.itemsize)
        samples = part.view(np.uint8)
        np.subtract(samples[:1], above, out=filtered[rows.start : rows.start + 1, 1:])
        np.subtract(samples[1:], samples[:-1], out=filtered[rows.start + 1 : rows.stop, 1:])
        above = samples[-1:].copy()
        done(image[rows])
    return filtered


PNG = Format(
    "PNG",
    suffixes=(".png", ".apng"),
    signatures=(SIGNATURE,),
    decode=read_png,
    encode=encode_png,
    reads_once=True,
    saved_suffixes=(".png",),
    dtypes=(np.uint8, np.uint16),
    most_exif_bytes=2**31 - 1,
    encoder_copies=1,  # the differences of its rows
)
