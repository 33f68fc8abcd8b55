"""JPEG: Pillow reads the header, simplejpeg (libjpeg) the pixels, with the proof that all of them are there.

A JPEG has no checksum. Where its data stops early but an end marker follows, libjpeg fills the rest, and
warns. simplejpeg passes the first warning on; Pillow and imagecodecs pass none. simplejpeg decodes grey and
RGB into place: Pillow, with the same library, decodes into four bytes per pixel (12 megapixels take 54 ms and
48 MB more). Pillow decodes what simplejpeg does not know: CMYK, and colours of an unusual resolution.
"""

import io
import mmap
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import BinaryIO

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import Refused, Unsupported
from engine.image.form import Budget, Form, check_long_enough
from engine.image.format import Format
from engine.image.formats.jpeg_markers import (
    CUT_SHORT,
    Frame,
    cleaned,
    decode_into,
    frame_of,
    notes_on_warning,
    with_surplus,
)
from engine.image.formats.pillow import (
    encode_with_pillow,
    frame_notes,
    metadata_of_info,
    opened_with_pillow,
    orientation_of_info,
    read_with_pillow,
)
from engine.image.jpeg_quality import nearest_quality
from engine.image.metadata import EXIF_MARK, NO_METADATA
from engine.image.picture import Picture

_UNWRITTEN, _OTHER_UNWRITTEN = 0x55, 0xAA
# From this quality on, the colours of a JPEG keep the resolution of its brightness.
_FULL_CHROMA_QUALITY = 90
# SOI, and the JFIF segment of 16 bytes with its marker.
_JFIF_END = 20
# The length counts itself.
MOST_JPEG_EXIF_BYTES = 65_533 - len(EXIF_MARK)
NO_END = "The mark of its end is missing; all of its rows are there."


def read_jpeg(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a JPEG whose data reaches its last row; refuse any other."""
    with _bytes_of(file) as data:
        frame = frame_of(data)
        if frame.unsupported:
            raise Unsupported(frame.unsupported)
        frame.check_scans()
        if frame.end is None and not frame.has_all_scans:
            raise Refused(CUT_SHORT)
        head, notes = cleaned(data, head_only=True)
        with opened_with_pillow(io.BytesIO(head), "JPEG") as image:
            info, mode, (width, height), others = image.info, image.mode, image.size, frame_notes(image)
            # The steps of quantisation of its brightness.
            steps = next(iter(getattr(image, "quantization", {}).values()), ())
        form = Form(height, width, 1 if mode == "L" else 3, False, np.dtype(np.uint8))
        budget.check(form, frame.coefficient_bytes)
        check_long_enough(form, len(data), frame.fewest_bytes)
        is_by_pillow = mode == "CMYK" or not frame.is_usual
        source: mmap.mmap | bytes = data
        if is_by_pillow or frame.end is None or notes:
            # What is decoded is copied, in pieces and as a whole.
            budget.check(form, frame.coefficient_bytes + 2 * len(data))
            source, notes = cleaned(data)
            notes += (NO_END,) if frame.end is None else ()
            frame = frame._replace(end=len(source) - 2)
        notes += others
        if is_by_pillow:
            decoded = _by_pillow(source, frame, form, mode, budget, allocate, notes)
        else:
            canvas = Canvas(form, orientation_of_info(info), allocate)
            colours = "GRAY" if form.channels == 1 else "RGB"
            damage: list[str] = []
            canvas.decode_into(lambda out: damage.extend(_decode(source, frame, colours, form, budget, out)))
            decoded = Decoded(canvas, info.get("icc_profile"), (*notes, *damage), metadata_of_info(info))
    quality = nearest_quality(steps) if steps else 0
    return decoded._replace(metadata=replace(decoded.metadata, quality=quality))


def _by_pillow(
    source: mmap.mmap | bytes,
    frame: Frame,
    form: Form,
    mode: str,
    budget: Budget,
    allocate: Allocate | None,
    notes: tuple[str, ...],
) -> Decoded:
    """Let Pillow decode a JPEG of any colours; its picture is compared with a second one."""
    channels = {"L": 1, "RGB": 3}.get(mode, 4)
    budget.check(form, frame.coefficient_bytes + form.pixel_count * channels)
    decoded = read_with_pillow("JPEG", io.BytesIO(source), budget, allocate)
    decoded = decoded._replace(notes=tuple(dict.fromkeys((*notes, *decoded.notes))))
    if frame.is_usual:
        inks = np.empty((form.height, form.width, channels), np.uint8)
        return decoded._replace(notes=(*decoded.notes, *_decode(source, frame, mode, form, budget, inks)))
    # Surplus data must not change what was decoded.
    longer = io.BytesIO(with_surplus(source, frame.end or len(source)))
    if not np.array_equal(read_with_pillow("JPEG", longer, budget).canvas.pixels, decoded.canvas.pixels):
        raise Refused(CUT_SHORT)
    return decoded


def _decode(
    data: mmap.mmap | bytes, frame: Frame, colours: str, form: Form, budget: Budget, out: NDArray[np.uint8]
) -> tuple[str, ...]:
    """Decode the first picture of a file; return a note where it is damaged.

    Raises Refused where its data does not reach its last row.
    """
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
    # Pillow writes these into a picture of one pixel; they lie between the first segment and the tables.
    exif = EXIF_MARK + metadata.exif if metadata.exif else b""
    kept = {"icc_profile": profile, "exif": exif, "dpi": metadata.dpi or (0, 0)}
    bare, full = (encode_with_pillow("JPEG", np.zeros((1, 1), np.uint8), **how) for how in ({}, kept))
    head = full[: _JFIF_END + len(full) - len(bare)]
    return b"".join((head, memoryview(data)[_JFIF_END:]))


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
