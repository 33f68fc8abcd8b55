"""Metadata of a picture: the orientation is used when it is opened, EXIF data and resolution are kept."""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

EXIF_ORIENTATION_TAG = 274

# As an attribute or as an element; other prefixes than "tiff" for Adobe's name space have not been seen.
_XMP_ORIENTATION = re.compile(rb"tiff:Orientation(?:\s*=\s*[\"']|\s*>\s*)([1-8])\s*[\"'<]")

# 258 bytes for two bits: the most that deflate makes of anything.
MOST_INFLATED = 1032

_RAW_EXIF = (b"Raw profile type exif", b"Raw profile type APP1")
_XMP_TEXTS = (b"Raw profile type xmp", b"XML:com.adobe.xmp")

# 72 and 96 are what programs write that know of none.
_NO_RESOLUTION = (72, 96)

EXIF_MARK = b"Exif\0\0"
# A JPEG holds 64 KB. Of more than this the rest is dropped, and named as damaged when it is saved.
MOST_EXIF_BYTES = 2**20
# Texts and profiles are some kB; what is longer is none.
_MAX_TEXT_BYTES = 16 * 2**20
# While a text is read, it is held in up to four forms: as it is, without its keyword, as digits, as bytes.
_TEXT_SHARE = 8

# Tags of a list within a list.
EXIF_TAG, GPS_TAG = 34665, 34853
# What a TIFF says in texts of the picture, not of its pixels: its description by a camera's or a person's
# program, maker, model, date, artist, computer, copyright.
TEXT_TAGS = (270, 271, 272, 306, 315, 316, 33432)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a file says beside pixels and colour profile, which a saved picture keeps where its format can.

    `exif` is EXIF data as the file has it, without a marker; empty: none. `dpi` is pixels per inch, across
    and down; None where the file does not say. `left_out` names what else it says, which no saved picture
    keeps (`engine.image.left_out`).
    """

    exif: bytes = b""
    dpi: tuple[float, float] | None = None
    left_out: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What there is, in words; a resolution that says nothing is not counted."""
        has_resolution = self.dpi is not None and round(self.dpi[0]) not in _NO_RESOLUTION
        return (*(("EXIF data",) if self.exif else ()), *(("resolution (DPI)",) if has_resolution else ()))


NO_METADATA = Metadata()


def metadata_of(
    exif: bytes | None = None,
    dpi: "tuple[float, float] | None" = None,
    left_out: tuple[str, ...] = (),
) -> Metadata:
    """Return EXIF data, with or without its marker, a resolution, if it is one, and what else there is."""
    block = (exif or b"").removeprefix(EXIF_MARK)[:MOST_EXIF_BYTES]
    is_resolution = dpi is not None and all(0.5 <= float(one) < 2**16 for one in dpi)
    resolution = (float(dpi[0]), float(dpi[1])) if dpi is not None and is_resolution else None
    return Metadata(block, resolution, left_out)


def exif_module() -> Any:
    """Return `engine.image.exif`, which imports Pillow: 20 ms, only where there is EXIF data."""
    return import_module("engine.image.exif")


def note_of_first(count: int, kind: str) -> tuple[str, ...]:
    """Return a note that only the first of several frames or pages was opened; -1: others are damaged."""
    if count < 0:
        return (f"The first {kind} was opened; the {kind}s after it are damaged.",)
    return (f"It has {count:,} {kind}s; the first was opened.",) if count > 1 else ()


def orientation_of_exif(block: bytes | None) -> int:
    """Return the orientation in EXIF data, with or without its marker; 0 where none can be read."""
    found: int = exif_module().orientation_of(block) if block else 0
    return found


def orientation_of_xmp(packet: bytes | None) -> int:
    """Return the orientation (tiff:Orientation) in an XMP packet, 0 where there is none."""
    found = _XMP_ORIENTATION.search(packet or b"")
    return int(found.group(1)) if found else 0


def names_orientation(text: bytes) -> bool:
    """Return whether the text of a PNG chunk, which begins with its keyword, may hold an orientation."""
    return text.partition(b"\0")[0] in (*_RAW_EXIF, *_XMP_TEXTS)


def most_text_bytes(max_bytes: int) -> int:
    """Return to how many bytes the texts of a file may inflate, all together, and its profile by itself.

    `max_bytes` is the limit on memory, of which they take half while they are read.
    """
    return min(_MAX_TEXT_BYTES, max_bytes // _TEXT_SHARE)


def exif_of_text(chunks: Iterable[bytes], most_bytes: int) -> tuple[int, bytes]:
    """Return the orientation in the text chunks of a PNG (type and content of each), 0 where there is none.

    With it comes the first EXIF data.

    ImageMagick writes EXIF as digits ("Raw profile type exif" or "APP1"), Adobe's programs write XMP. All
    texts together are read up to `most_bytes`; what follows is not read.
    """
    left, exif = most_bytes, b""
    for chunk in chunks:
        keyword, text, is_deflated = _keyword_and_text(chunk)
        if is_deflated:
            deflated, text = text, inflated(text, left)
            # How far a damaged text was inflated is not known: assume the most.
            left -= len(text) or min(left, MOST_INFLATED * len(deflated))
        else:
            left -= len(text)
        if left < 0:
            return 0, exif
        block = _hexadecimal(text) if keyword.startswith(b"Raw profile type") else text
        orientation = orientation_of_exif(block) if keyword in _RAW_EXIF else 0
        exif = exif or (block if keyword in _RAW_EXIF else b"")
        if keyword in (*_RAW_EXIF, *_XMP_TEXTS):
            orientation = orientation or orientation_of_xmp(block)
        if orientation or not left:
            return orientation, exif
    return 0, exif


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
