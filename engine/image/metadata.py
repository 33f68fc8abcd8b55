"""Metadata as the formats hold it: the orientation is used, other fields are only named."""

import re
import zlib
from collections.abc import Iterable

EXIF_ORIENTATION_TAG = 274

# As an attribute or as an element; other prefixes than "tiff" for Adobe's name space have not been seen.
_XMP_ORIENTATION = re.compile(rb"tiff:Orientation(?:\s*=\s*[\"']|\s*>\s*)([1-8])\s*[\"'<]")

# 258 bytes for two bits: the most that deflate makes of anything.
MOST_INFLATED = 1032

_RAW_EXIF = (b"Raw profile type exif", b"Raw profile type APP1")
_XMP_TEXTS = (b"Raw profile type xmp", b"XML:com.adobe.xmp")

# 72 and 96 are what programs write that know of none.
_NO_RESOLUTION = (0, 72, 96)

# Texts and profiles are some kB; what is longer is none.
_MAX_TEXT_BYTES = 16 * 2**20
# While a text is read, it is held in up to four forms: as it is, without its keyword, as digits, as bytes.
_TEXT_SHARE = 8


def named_metadata(*, exif: object = None, dpi: float = 0.0) -> tuple[str, ...]:
    """Return the names of what a saved picture will not hold: EXIF data, a resolution (0: none)."""
    has_resolution = round(dpi) not in _NO_RESOLUTION
    return (*(("EXIF data",) if exif else ()), *(("resolution (DPI)",) if has_resolution else ()))


def note_of_first(count: int, kind: str) -> tuple[str, ...]:
    """Return a note that only the first of several frames or pages was opened; -1: others are damaged."""
    if count < 0:
        return (f"The first {kind} was opened; the {kind}s after it are damaged.",)
    return (f"It has {count:,} {kind}s; the first was opened.",) if count > 1 else ()


def orientation_of_exif(block: bytes | None) -> int:
    """Return the orientation in EXIF data, with or without its marker; 0 where none can be read."""
    if not block:
        return 0
    # 20 ms: only where there is EXIF data.
    from PIL import Image

    exif = Image.Exif()
    try:
        exif.load(block)
        return int(exif.get(EXIF_ORIENTATION_TAG, 0))
    except (SyntaxError, ValueError, TypeError, OSError, LookupError, ArithmeticError):
        # Damaged metadata is no reason to refuse whole pixels.
        return 0


def orientation_of_xmp(packet: bytes | None) -> int:
    """Return the orientation (tiff:Orientation) in an XMP packet, 0 where there is none."""
    found = _XMP_ORIENTATION.search(packet or b"")
    return int(found.group(1)) if found else 0


def names_orientation(text: bytes) -> bool:
    """Return whether the text of a PNG chunk, which begins with its keyword, may hold an orientation."""
    return text.partition(b"\0")[0] in (*_RAW_EXIF, *_XMP_TEXTS)


def is_raw_exif(chunk: bytes) -> bool:
    """Return whether a text chunk of a PNG (its type and content) holds EXIF data."""
    return chunk[4:].partition(b"\0")[0] in _RAW_EXIF


def most_text_bytes(max_bytes: int) -> int:
    """Return to how many bytes the texts of a file may inflate, all together, and its profile by itself.

    `max_bytes` is the limit on memory, of which they take half while they are read.
    """
    return min(_MAX_TEXT_BYTES, max_bytes // _TEXT_SHARE)


def orientation_of_text(chunks: Iterable[bytes], most_bytes: int) -> int:
    """Return the orientation in the text chunks of a PNG (type and content of each), 0 where there is none.

    ImageMagick writes EXIF as digits ("Raw profile type exif" or "APP1"), Adobe's programs write XMP. All
    texts together are read up to `most_bytes`; what follows is not read.
    """
    left = most_bytes
    for chunk in chunks:
        keyword, text, is_deflated = _keyword_and_text(chunk)
        if is_deflated:
            deflated, text = text, inflated(text, left)
            # How far a damaged text was inflated is not known: assume the most.
            left -= len(text) or min(left, MOST_INFLATED * len(deflated))
        else:
            left -= len(text)
        if left < 0:
            return 0
        block = _hexadecimal(text) if keyword.startswith(b"Raw profile type") else text
        orientation = orientation_of_exif(block) if keyword in _RAW_EXIF else 0
        if keyword in (*_RAW_EXIF, *_XMP_TEXTS):
            orientation = orientation or orientation_of_xmp(block)
        if orientation or not left:
            return orientation
    return 0


def _keyword_and_text(chunk: bytes) -> tuple[bytes, bytes, bool]:
    """Return the keyword and the text of a chunk, and whether the text is deflated."""
    kind, (keyword, _, rest) = chunk[:4], chunk[4:].partition(b"\0")
    if kind == b"tEXt":
        return keyword, rest, False
    if kind == b"zTXt":
        return keyword, rest[1:], True
    # iTXt: is it compressed, method, language NUL, translated keyword NUL, text
    _, _, after_language = rest[2:].partition(b"\0")
    return keyword, after_language.partition(b"\0")[2], rest[:1] == b"\1"


def inflated(data: bytes, most_bytes: int) -> bytes:
    """Return what data inflates to; nothing where it is damaged or inflates further."""
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(data, most_bytes)
    except zlib.error:
        return b""
    return content if inflater.eof else b""


def _hexadecimal(text: bytes) -> bytes:
    """Content of a "raw profile": newline, its name, its size, and hexadecimal digits in lines."""
    try:
        return bytes.fromhex(text.split(None, 2)[2].decode("ascii"))
    except (ValueError, IndexError):
        return b""
