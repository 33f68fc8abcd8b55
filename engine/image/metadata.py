"""Metadata of a picture: the orientation is used when it is opened, EXIF data and resolution are kept."""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from engine.image.faults import LIBRARY_ERRORS
from engine.image.library_warnings import ignored_warnings

if TYPE_CHECKING:
    from PIL import Image

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
_MOST_EXIF_BYTES = 2**20
# Tags of a list within a list.
EXIF_TAG, GPS_TAG, _INTEROP_TAG = 34665, 34853, 40965
_WIDTH, _HEIGHT, _X_RESOLUTION, _Y_RESOLUTION, _RESOLUTION_UNIT = 256, 257, 282, 283, 296
_EXIF_WIDTH, _EXIF_HEIGHT = 0xA002, 0xA003
_INCH = 2
# Of how pixels were stored, which are stored anew: depth, compression, strips, planes, a thumbnail.
_OF_STORED_PIXELS = (258, 259, 262, 273, 277, 278, 279, 284, 513, 514, 529, 530, 531)
# What a TIFF says in texts of the picture, not of its pixels: its description by a camera's or a person's
# program, maker, model, date, artist, computer, copyright.
TEXT_TAGS = (270, 271, 272, 306, 315, 316, 33432)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a file says beside pixels and colour profile, which a saved picture keeps where its format can.

    `exif` is EXIF data as the file has it, without a marker; empty: none. `dpi` is pixels per inch, across
    and down; None where the file does not say.
    """

    exif: bytes = b""
    dpi: tuple[float, float] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What there is, in words; a resolution that says nothing is not counted."""
        has_resolution = self.dpi is not None and round(self.dpi[0]) not in _NO_RESOLUTION
        return (*(("EXIF data",) if self.exif else ()), *(("resolution (DPI)",) if has_resolution else ()))


NO_METADATA = Metadata()


def metadata_of(exif: bytes | None = None, dpi: "tuple[float, float] | None" = None) -> Metadata:
    """Return EXIF data, with or without its marker, and a resolution; one that is none is left out."""
    block = (exif or b"").removeprefix(EXIF_MARK)[:_MOST_EXIF_BYTES]
    is_resolution = dpi is not None and all(0.5 <= float(one) < 2**16 for one in dpi)
    return Metadata(block, (float(dpi[0]), float(dpi[1])) if dpi is not None and is_resolution else None)


def loaded_exif(metadata: Metadata) -> "Image.Exif":
    """Return EXIF data as Pillow has it, whose errors pass through."""
    # 20 ms: only where there is EXIF data.
    from PIL import Image

    exif = Image.Exif()
    exif.load(metadata.exif)
    return exif


def exif_with_resolution(metadata: Metadata) -> bytes:
    """Return EXIF data that has the resolution, for a file that has no other place for it."""
    if metadata.exif or metadata.dpi is None:
        return metadata.exif
    exif = loaded_exif(metadata)
    _set_resolution(exif, metadata.dpi)
    return exif.tobytes()


def _set_resolution(exif: "Image.Exif", dpi: tuple[float, float]) -> None:
    exif[_X_RESOLUTION], exif[_Y_RESOLUTION], exif[_RESOLUTION_UNIT] = (*dpi, _INCH)


def _upright_exif(metadata: Metadata, width: int, height: int) -> "tuple[Image.Exif | None, bool]":
    """Return EXIF data for a picture of a size that is saved upright, and whether all of it could be read.

    The orientation is that of the saved pixels, and the thumbnail, which shows the picture as it was, is
    left out when it is written. None: nothing can be read.
    """
    try:
        exif = loaded_exif(metadata)
        if not len(exif):
            return None, False
        of_camera = exif.get_ifd(EXIF_TAG) if EXIF_TAG in exif else {}
        is_whole = all(exif.get_ifd(tag) for tag in (EXIF_TAG, GPS_TAG) if tag in exif)
        for tag in _OF_STORED_PIXELS:
            if tag in exif:
                del exif[tag]
        for tags, tag, value in (
            (exif, EXIF_ORIENTATION_TAG, 1),
            (exif, _WIDTH, width),
            (exif, _HEIGHT, height),
            (of_camera, _EXIF_WIDTH, width),
            (of_camera, _EXIF_HEIGHT, height),
        ):
            if tag in tags:
                tags[tag] = value
        if metadata.dpi is not None:
            _set_resolution(exif, metadata.dpi)
    except LIBRARY_ERRORS:
        return None, False
    return exif, is_whole


def exif_to_save(metadata: Metadata, width: int, height: int) -> tuple[Metadata, bool]:
    """Return metadata with EXIF data as a picture of a size has it, and whether all of it could be read."""
    if not metadata.exif:
        return metadata, True
    with ignored_warnings():
        exif, is_whole = _upright_exif(metadata, width, height)
        try:
            block = b"" if exif is None else exif.tobytes()
        except LIBRARY_ERRORS:
            block, is_whole = b"", False
    return Metadata(block.removeprefix(EXIF_MARK), metadata.dpi), is_whole


def inner_lists(exif: "Image.Exif") -> dict[int, dict[int, Any]]:
    """Return the lists of tags within EXIF data by their own tags: of the camera, and of the place."""
    found = {tag: dict(exif.get_ifd(tag)) for tag in (EXIF_TAG, GPS_TAG) if tag in exif}
    if _INTEROP_TAG in found.get(EXIF_TAG, ()):
        found[EXIF_TAG][_INTEROP_TAG] = exif.get_ifd(_INTEROP_TAG)
    return {tag: tags for tag, tags in found.items() if tags}


def exif_of_tiff(file: BinaryIO, offset: int, byte_order: str, *, is_big: bool, is_photo: bool) -> bytes:
    """Return as EXIF data what a TIFF, whose first list of tags lies at an offset, says of its picture.

    Without `is_photo` its description is left out: microscopes' programs describe pages and axes in it.
    """
    # As above.
    from PIL import Image

    exif, kept = Image.Exif(), Image.Exif()
    exif.endian, exif.bigtiff = byte_order, is_big
    try:
        exif.load_from_fp(_Bounded(file), offset)  # type: ignore[arg-type]
        for tag in TEXT_TAGS if is_photo else TEXT_TAGS[1:]:
            if tag in exif:
                kept[tag] = exif[tag]
        for tag, tags in inner_lists(exif).items():
            kept[tag] = tags
        return kept.tobytes() if len(kept) else b""
    except LIBRARY_ERRORS:
        # Something that cannot be read, as the note says when it is saved.
        return b"damaged"


class _Bounded:
    """A file of which no more is read than EXIF data may have, whatever its tags say."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, 16 * _MOST_EXIF_BYTES
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise OSError("its EXIF data is larger than any")
        return self._file.read(size)


def tiff_lists(exif: "Image.Exif", offset: int) -> tuple[bytes, dict[int, int]]:
    """Return the lists of tags within EXIF data as a TIFF has them at an offset, and where each begins."""
    # As above.
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    data, begins = b"", {}
    for group, tags in inner_lists(exif).items():
        made = ImageFileDirectory_v2(group=group)
        for tag, value in tags.items():
            made[tag] = value
        data += b"\0" * (len(data) % 2)
        begins[group] = offset + len(data)
        data += made.tobytes(begins[group])
    return data, begins


# Texts and profiles are some kB; what is longer is none.
_MAX_TEXT_BYTES = 16 * 2**20
# While a text is read, it is held in up to four forms: as it is, without its keyword, as digits, as bytes.
_TEXT_SHARE = 8


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
