"""The pixels of a JPEG, and the proof that its data reaches the last row.

A JPEG has no checksum. Where its data stops early but an end marker follows, libjpeg fills the rest, and
warns. simplejpeg passes the first warning on; Pillow and imagecodecs pass none. simplejpeg decodes grey and
RGB into place: Pillow, with the same library, decodes into four bytes per pixel (12 megapixels take 54 ms and
48 MB more). Pillow reads unusual headers (`jpeg_header` the others), and all of other kinds, such as CMYK, or
colours of a resolution that simplejpeg does not know.
"""

import io
import mmap
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import Refused, Unsupported
from engine.image.form import Form
from engine.image.jpeg import CUT_SHORT, Frame, frame_of, has_all_scans, notes_on_warning, with_surplus
from engine.image.jpeg_header import Header, cleaned, plain_header
from engine.image.left_out import left_out_of_jpeg
from engine.image.metadata import metadata_of, orientation_of_exif, orientation_of_xmp
from engine.image.pillow import frame_notes, opened_with_pillow, read_with_pillow

if TYPE_CHECKING:
    from PIL import ImageFile

_UNWRITTEN, _OTHER_UNWRITTEN = 0x55, 0xAA
NO_END = "The mark of its end is missing; all of its rows are there."


def read_jpeg(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a JPEG whose data reaches its last row; refuse any other."""
    file_bytes = file.seek(0, 2)
    source: BinaryIO = file
    notes: tuple[str, ...] = ()
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
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
    # Loaded with the first JPEG.
    import simplejpeg

    with _bytes_of(source) as data:
        try:
            simplejpeg.decode_jpeg(data, colours, buffer=out)
        except ValueError as error:
            notes = notes_on_warning(str(error))
            budget.check(form, frame.coefficient_bytes + out.nbytes + len(data))
            if not _is_whole(data, frame.end or len(data), colours, out):
                raise Refused(CUT_SHORT) from error
            return notes
    return ()


def _bytes_of(source: BinaryIO) -> "mmap.mmap | memoryview":
    """Return the bytes of a file, or of a copy in memory, to be closed."""
    if isinstance(source, io.BytesIO):
        return source.getbuffer()
    return mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)


def _check_whole(source: BinaryIO, end: int, budget: Budget, decoded: Decoded) -> None:
    """Raise Refused where surplus data changes what Pillow has decoded."""
    with _bytes_of(source) as data:
        longer = io.BytesIO(with_surplus(data, end))
    again = read_with_pillow("JPEG", longer, budget)
    if not np.array_equal(again.canvas.pixels, decoded.canvas.pixels):
        raise Refused(CUT_SHORT)


def _is_whole(data: mmap.mmap | memoryview, end: int, colours: str, out: NDArray[np.uint8]) -> bool:
    """Decode a file in spite of a warning; return whether all of `out` was written, from data of the file.

    After a warning TurboJPEG calls a fatal error a warning too, and has then written some rows or none. Two
    buffers of different values become the same only where both are written; and surplus data changes pixels
    where data was missing.
    """
    # Loaded with the first JPEG.
    import simplejpeg

    again = np.full_like(out, _OTHER_UNWRITTEN)
    out.fill(_UNWRITTEN)
    simplejpeg.decode_jpeg(data, colours, buffer=out, strict=False)
    simplejpeg.decode_jpeg(with_surplus(data, end), colours, buffer=again, strict=False)
    return np.array_equal(out, again)
