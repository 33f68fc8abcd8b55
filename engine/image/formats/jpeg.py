"""The pixels of a JPEG, and the proof that its data reaches the last row.

A JPEG has no checksum. Where its data stops early but an end marker follows, libjpeg fills the rest, and
warns. simplejpeg passes the first warning on; Pillow and imagecodecs pass none. simplejpeg decodes grey and
RGB into place: Pillow, with the same library, decodes into four bytes per pixel (12 megapixels take 54 ms and
48 MB more). Pillow reads unusual headers (`jpeg_header` the others), and all of other kinds, such as CMYK, or
colours of a resolution that simplejpeg does not know.
"""

import io
import mmap
import struct
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, BinaryIO

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.exif import orientation_of_exif, orientation_of_xmp
from engine.image.faults import Refused, Unsupported
from engine.image.form import Form
from engine.image.format import Format
from engine.image.formats.jpeg_header import Header, cleaned, plain_header
from engine.image.formats.jpeg_markers import (
    CUT_SHORT,
    Frame,
    decode_into,
    frame_of,
    has_all_scans,
    markers,
    notes_on_warning,
    with_surplus,
)
from engine.image.formats.pillow import frame_notes, opened_with_pillow, read_with_pillow
from engine.image.metadata import COMMENT, EXIF_MARK, IPTC, NO_METADATA, XMP, metadata_of, unique
from engine.image.picture import Picture

if TYPE_CHECKING:
    from PIL import ImageFile

_UNWRITTEN, _OTHER_UNWRITTEN = 0x55, 0xAA
_SCAN, _APP1, _APP13, _COMMENT_MARKER = 0xDA, 0xE1, 0xED, 0xFE
_ADOBE_XMP = (b"http://ns.adobe.com/xap/1.0/\0", b"http://ns.adobe.com/xmp/extension/\0")
_PHOTOSHOP, _IPTC_RESOURCE = b"Photoshop 3.0\0", b"8BIM\x04\x04"
# From this quality on, the colours of a JPEG keep the resolution of its brightness.
_FULL_CHROMA_QUALITY = 90
# SOI, and the JFIF segment of 16 bytes with its marker.
_JFIF_END = 20
# Of a JFIF segment unit and density: where they lie, and what they are. 1 is for inches.
_DENSITY_AT, _DENSITY, _PER_INCH = 13, ">BHH", 1
# The length counts itself.
MOST_JPEG_EXIF_BYTES = 65_533 - len(EXIF_MARK)
_ICC_MARK = b"ICC_PROFILE\0"
# A segment has 65,533 bytes beside its length: the mark, number and count, then the profile.
_ICC_PART_BYTES = 65_533 - len(_ICC_MARK) - 2

NO_END = "The mark of its end is missing; all of its rows are there."


def read_jpeg(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a JPEG whose data reaches its last row; refuse any other."""
    file_bytes = file.seek(0, 2)
    source: BinaryIO = file
    notes: tuple[str, ...] = ()
    with _bytes_of(file) as data:
        frame = frame_of(data)
        header = plain_header(data)
        left_out = left_out_of_jpeg(data)
        if frame.unsupported:
            raise Unsupported(frame.unsupported)
        frame.check_scans()
        if frame.end is None and not has_all_scans(data):
            raise Refused(CUT_SHORT)
        if header is None or frame.end is None:
            if frame.width and frame.height:
                # What is decoded is copied, in pieces and as a whole.
                grey = Form(frame.height, frame.width, 1, False, np.dtype(np.uint8))
                budget.check(grey, frame.coefficient_bytes + 2 * file_bytes)
            copy, notes = cleaned(data)
            notes += (NO_END,) if frame.end is None else ()
            source, frame = io.BytesIO(copy), frame._replace(end=len(copy) - 2)
    if source is not file:
        with opened_with_pillow(source, "JPEG") as image:
            header = _header_of(image)
            notes = (*notes, *(frame_notes(image) if header.channels != 4 else ()))
    assert header is not None
    assert frame.end is not None
    is_cmyk = header.channels == 4
    form = Form(header.height, header.width, 1 if header.channels == 1 else 3, False, np.dtype(np.uint8))
    if is_cmyk or not frame.is_usual:
        # Pillow's picture is compared with a second one.
        budget.check(form, frame.coefficient_bytes + form.pixel_count * header.channels)
        decoded = read_with_pillow("JPEG", source, budget, allocate, frame)
        decoded = decoded._replace(notes=tuple(dict.fromkeys((*notes, *decoded.notes))))
        if not frame.is_usual:
            _check_whole(source, frame.end, budget, decoded)
            return decoded
        inks = np.empty((header.height, header.width, header.channels), np.uint8)
        notes = _decode(source, frame, "CMYK", form, budget, inks)
        return decoded._replace(notes=(*decoded.notes, *notes))
    budget.check(form, frame.coefficient_bytes)
    check_long_enough(form, file_bytes, frame.fewest_bytes)
    canvas = Canvas(form, header.orientation or orientation_of_xmp(header.xmp), allocate)
    colours = "GRAY" if form.channels == 1 else "RGB"
    damage: list[str] = []
    canvas.decode_into(lambda out: damage.extend(_decode(source, frame, colours, form, budget, out)))
    metadata = metadata_of(header.exif, header.dpi, left_out)
    return Decoded(canvas, header.icc_profile, (*notes, *damage), metadata)


def _header_of(image: "ImageFile.ImageFile") -> Header:
    """Return the header as Pillow reads it: grey, RGB, or CMYK."""
    info, (width, height) = image.info, image.size
    exif = info.get("exif")
    return Header(
        width,
        height,
        {"L": 1, "RGB": 3}.get(image.mode, 4),
        info.get("icc_profile"),
        exif,
        info.get("xmp"),
        orientation_of_exif(exif),
        info.get("dpi"),
    )


def _decode(
    source: BinaryIO, frame: Frame, colours: str, form: Form, budget: Budget, out: NDArray[np.uint8]
) -> tuple[str, ...]:
    """Decode the first picture of a file; return a note where it is damaged.

    Raises Refused where its data does not reach its last row.
    """
    with _bytes_of(source) as data:
        try:
            decode_into(out, data, colours)
        except ValueError as error:
            notes = notes_on_warning(str(error))
            budget.check(form, frame.coefficient_bytes + out.nbytes + len(data))
            if not _is_whole(data, frame.end or len(data), colours, out):
                raise Refused(CUT_SHORT) from error
            return notes
    return ()


def _bytes_of(source: BinaryIO) -> AbstractContextManager[mmap.mmap | bytes]:
    """Return the bytes of a file, or of one in memory, to be closed."""
    if isinstance(source, io.BytesIO):
        return nullcontext(source.getvalue())
    return mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)


def _check_whole(source: BinaryIO, end: int, budget: Budget, decoded: Decoded) -> None:
    """Raise Refused where surplus data changes what Pillow has decoded."""
    with _bytes_of(source) as data:
        longer = io.BytesIO(with_surplus(data, end))
    again = read_with_pillow("JPEG", longer, budget)
    if not np.array_equal(again.canvas.pixels, decoded.canvas.pixels):
        raise Refused(CUT_SHORT)


def _is_whole(data: mmap.mmap | bytes, end: int, colours: str, out: NDArray[np.uint8]) -> bool:
    """Decode a file in spite of a warning; return whether all of `out` was written, from data of the file.

    After a warning TurboJPEG calls a fatal error a warning too, and has then written some rows or none. Two
    buffers of different values become the same only where both are written; and surplus data changes pixels
    where data was missing.
    """
    again = np.full_like(out, _OTHER_UNWRITTEN)
    out.fill(_UNWRITTEN)
    decode_into(out, data, colours, is_strict=False)
    decode_into(again, with_surplus(data, end), colours, is_strict=False)
    return np.array_equal(out, again)


def left_out_of_jpeg(data: mmap.mmap | bytes) -> tuple[str, ...]:
    """Return the names for the segments of a JPEG before its pixels."""
    found = []
    for marker, position in markers(data):
        if marker == _SCAN:
            break
        size = int.from_bytes(data[position + 2 : position + 4], "big")
        content = data[position + 4 : position + 2 + size] if marker in (_APP1, _APP13) else b""
        if marker == _COMMENT_MARKER:
            found.append(COMMENT)
        elif marker == _APP1 and content.startswith(_ADOBE_XMP):
            found.append(XMP)
        elif marker == _APP13 and content.startswith(_PHOTOSHOP):
            found.append(IPTC if _IPTC_RESOURCE in content else "Photoshop data")
    return unique(found)


def encode_jpeg(picture: Picture, quality: int) -> bytes:
    """Encode grey or RGB at 8 bit, without the alpha.

    imagecodecs, because Pillow first copies the picture into four bytes per pixel (12 megapixels: 59 ms
    instead of 47, and 48 MB); the files are the same.
    """
    # Grey has no chroma.
    subsampling = "444" if quality >= _FULL_CHROMA_QUALITY else "420"
    # NumPy keeps the strides of the original array for a single row or column, and imagecodecs refuses
    # those.
    pixels = picture.pixels.reshape(-1).reshape(picture.pixels.shape)
    data = bytes(imagecodecs.jpeg8_encode(pixels, level=quality, subsampling=subsampling))
    profile, metadata = picture.icc_profile, picture.metadata
    if profile is None and metadata == NO_METADATA:
        return data
    jfif = bytearray(data[:_JFIF_END])
    if metadata.dpi is not None:
        struct.pack_into(_DENSITY, jfif, _DENSITY_AT, _PER_INCH, *map(round, metadata.dpi))
    exif = _segment(b"\xff\xe1", EXIF_MARK + metadata.exif) if metadata.exif else b""
    icc = _icc_segments(profile) if profile is not None else b""
    return b"".join((jfif, exif, icc, memoryview(data)[_JFIF_END:]))


def _segment(marker: bytes, content: bytes) -> bytes:
    return marker + (len(content) + 2).to_bytes(2, "big") + content


def _icc_segments(profile: bytes) -> bytes:
    """Return a colour profile as segments of a JPEG (ICC.1:2022, annex B.4)."""
    parts = [profile[at : at + _ICC_PART_BYTES] for at in range(0, len(profile), _ICC_PART_BYTES)]
    contents = (_ICC_MARK + bytes((number, len(parts))) + part for number, part in enumerate(parts, start=1))
    return b"".join(_segment(b"\xff\xe2", content) for content in contents)


JPEG = Format(
    "JPEG",
    suffixes=(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    signatures=(b"\xff\xd8\xff",),
    decode=read_jpeg,
    encode=encode_jpeg,
    saved_suffixes=(".jpg", ".jpeg"),
    dtypes=(np.uint8,),
    has_quality=True,
    keeps_alpha=False,
    most_exif_bytes=MOST_JPEG_EXIF_BYTES,
    max_side=65_500,
    encoder_bytes=4,  # libjpeg's buffer, of up to twice the file
)
