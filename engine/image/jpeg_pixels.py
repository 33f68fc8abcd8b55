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
from engine.image.jpeg import end_of_first_image, frame_of, with_surplus
from engine.image.jpeg_header import Header, plain_header
from engine.image.metadata import named_metadata, orientation_of_exif, orientation_of_xmp
from engine.image.pillow import frame_notes, opened_with_pillow, read_with_pillow

if TYPE_CHECKING:
    from PIL import ImageFile

# The first warning of libjpeg is the one that is known. Bytes before the end marker mean that all was there.
_STOPS_EARLY = re.compile("premature end", re.IGNORECASE)
_IS_WHOLE = re.compile("extraneous bytes before marker 0xd9")
_CUT_SHORT = "its data stops before its last row: the file was cut short or is damaged"


def read_jpeg(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a JPEG whose data reaches its last row; refuse any other."""
    frame = frame_of(file)
    if frame.unsupported:
        raise Unsupported(frame.unsupported)
    file_bytes = file.seek(0, 2)
    end = end_of_first_image(file)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        header = plain_header(data)
    notes: tuple[str, ...] = ()
    if header is None or end is None:
        file.seek(0)
        with opened_with_pillow(file, "JPEG") as image:
            header = _header_of(image)
            notes = frame_notes(image) if header.channels != 4 else ()
    if end is None or header.channels == 4 or not frame.is_usual:
        # Pillow finds the words for a file without an end.
        decoded = read_with_pillow("JPEG", file, budget, allocate, frame)
        if end is not None and not frame.is_usual:
            _check_whole(file, end, budget, decoded)
        elif end is not None:
            _decode(file, end, "CMYK", np.empty((header.height, header.width, 4), np.uint8))
        return decoded
    form = Form(header.height, header.width, header.channels, False, np.dtype(np.uint8))
    budget.check(form, frame.coefficient_bytes)
    check_long_enough(form, file_bytes, frame.fewest_bytes)
    canvas = Canvas(form, header.orientation or orientation_of_xmp(header.xmp), allocate)
    canvas.decode_into(lambda out: _decode(file, end, "GRAY" if form.channels == 1 else "RGB", out))
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


def _decode(file: BinaryIO, end: int, colours: str, out: NDArray[np.uint8]) -> None:
    """Decode the first picture of a file; raise Refused where its data does not reach its last row."""
    import simplejpeg

    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            simplejpeg.decode_jpeg(data, colours, buffer=out)
        except ValueError as error:
            if _STOPS_EARLY.search(str(error)) is None:
                simplejpeg.decode_jpeg(data, colours, buffer=out, strict=False)
            if not _IS_WHOLE.search(str(error)) and (
                _STOPS_EARLY.search(str(error)) or not _is_whole(data, end, colours, out)
            ):
                raise Refused(_CUT_SHORT) from error


def _check_whole(file: BinaryIO, end: int, budget: Budget, decoded: Decoded) -> None:
    """Raise Refused where surplus data changes what Pillow has decoded."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        longer = io.BytesIO(with_surplus(data, end))
    again = read_with_pillow("JPEG", longer, budget)
    if not np.array_equal(again.canvas.pixels, decoded.canvas.pixels):
        raise Refused(_CUT_SHORT)


def _is_whole(data: mmap.mmap, end: int, colours: str, pixels: NDArray[np.uint8]) -> bool:
    """Return whether a file with another warning has all its data: surplus data then changes no pixel."""
    import simplejpeg

    again = simplejpeg.decode_jpeg(with_surplus(data, end), colours, strict=False)
    return np.array_equal(again.reshape(pixels.shape), pixels)
