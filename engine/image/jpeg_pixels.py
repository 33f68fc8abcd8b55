"""The pixels of a JPEG, and the proof that its data reaches the last row.

A JPEG has no checksum. Where its data stops early but an end marker follows, libjpeg fills the rest, and
warns. simplejpeg passes warnings on; Pillow and imagecodecs do not. It decodes grey and RGB into place:
Pillow, with the same library, decodes into four bytes per pixel (12 megapixels take 54 ms and 48 MB more).
Pillow reads unusual headers (`jpeg_header` the others), and all of other kinds, such as CMYK, or colours of a
resolution that simplejpeg does not know.
"""

import io
import mmap
import re
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import Refused, Unsupported
from engine.image.form import Form
from engine.image.jpeg import Frame, frame_of, with_surplus
from engine.image.jpeg_header import Header, plain_header
from engine.image.metadata import named_metadata, orientation_of_exif, orientation_of_xmp
from engine.image.pillow import frame_notes, opened_with_pillow, read_with_pillow

if TYPE_CHECKING:
    from PIL import ImageFile

# Only the first of several warnings of libjpeg is known.
_STOPS_EARLY = re.compile("premature end", re.IGNORECASE)
_UNWRITTEN, _OTHER_UNWRITTEN = 0x55, 0xAA
_CUT_SHORT = "its data stops before its last row: the file was cut short or is damaged"


def read_jpeg(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a JPEG whose data reaches its last row; refuse any other."""
    file_bytes = file.seek(0, 2)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        frame = frame_of(data)
        header = plain_header(data)
    if frame.unsupported:
        raise Unsupported(frame.unsupported)
    frame.check_scans()
    end = frame.end
    notes: tuple[str, ...] = ()
    if header is None or end is None:
        file.seek(0)
        with opened_with_pillow(file, "JPEG") as image:
            header = _header_of(image)
            notes = frame_notes(image) if header.channels != 4 else ()
    is_cmyk = header.channels == 4
    form = Form(header.height, header.width, 1 if header.channels == 1 else 3, False, np.dtype(np.uint8))
    if end is None or is_cmyk or not frame.is_usual:
        # Pillow's picture is compared with a second one.
        budget.check(form, frame.coefficient_bytes + form.pixel_count * header.channels)
        # Pillow finds the words for a file without an end.
        decoded = read_with_pillow("JPEG", file, budget, allocate, frame)
        if end is not None and not frame.is_usual:
            _check_whole(file, end, budget, decoded)
        elif end is not None:
            inks = np.empty((header.height, header.width, 4), np.uint8)
            _decode(file, frame, "CMYK", form, budget, inks)
        return decoded
    budget.check(form, frame.coefficient_bytes)
    check_long_enough(form, file_bytes, frame.fewest_bytes)
    canvas = Canvas(form, header.orientation or orientation_of_xmp(header.xmp), allocate)
    colours = "GRAY" if form.channels == 1 else "RGB"
    canvas.decode_into(lambda out: _decode(file, frame, colours, form, budget, out))
    metadata = named_metadata(exif=header.has_exif, dpi=header.dpi)
    return Decoded(canvas, header.icc_profile, notes, metadata)


def _header_of(image: "ImageFile.ImageFile") -> Header:
    """Return the header as Pillow reads it: grey, RGB, or CMYK."""
    info, (width, height) = image.info, image.size
    exif = info.get("exif")
    return Header(
        width,
        height,
        {"L": 1, "RGB": 3}.get(image.mode, 4),
        info.get("icc_profile"),
        bool(exif),
        info.get("xmp"),
        orientation_of_exif(exif),
        float(info.get("dpi", (0,))[0]),
    )


def _decode(
    file: BinaryIO, frame: Frame, colours: str, form: Form, budget: Budget, out: NDArray[np.uint8]
) -> None:
    """Decode the first picture of a file; raise Refused where its data does not reach its last row."""
    import simplejpeg

    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            simplejpeg.decode_jpeg(data, colours, buffer=out)
        except ValueError as error:
            if _STOPS_EARLY.search(str(error)):
                raise Refused(_CUT_SHORT) from error
            budget.check(form, frame.coefficient_bytes + out.nbytes + len(data))
            if not _is_whole(data, frame.end or len(data), colours, out):
                raise Refused(_CUT_SHORT) from error


def _check_whole(file: BinaryIO, end: int, budget: Budget, decoded: Decoded) -> None:
    """Raise Refused where surplus data changes what Pillow has decoded."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        longer = io.BytesIO(with_surplus(data, end))
    again = read_with_pillow("JPEG", longer, budget)
    if not np.array_equal(again.canvas.pixels, decoded.canvas.pixels):
        raise Refused(_CUT_SHORT)


def _is_whole(data: mmap.mmap, end: int, colours: str, out: NDArray[np.uint8]) -> bool:
    """Decode a file in spite of a warning; return whether all of `out` was written, from data of the file.

    After a warning TurboJPEG calls a fatal error a warning too, and has then written some rows or none. Two
    buffers of different values become the same only where both are written; and surplus data changes pixels
    where data was missing.
    """
    import simplejpeg

    again = np.full_like(out, _OTHER_UNWRITTEN)
    out.fill(_UNWRITTEN)
    simplejpeg.decode_jpeg(data, colours, buffer=out, strict=False)
    simplejpeg.decode_jpeg(with_surplus(data, end), colours, buffer=again, strict=False)
    return np.array_equal(out, again)
