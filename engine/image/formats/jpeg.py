"""JPEG: Pillow reads the header, simplejpeg (libjpeg) the pixels, with the proof that all of them are there.

A JPEG has no checksum. Where its data stops early but an end marker follows, libjpeg fills the rest, and
warns. simplejpeg passes the first warning on; Pillow and imagecodecs pass none. It decodes into place:
Pillow, with the same library, decodes into four bytes per pixel (12 megapixels take 54 ms and 48 MB more).
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
from engine.image.colour import cmyk_to_rgb
from engine.image.faults import Refused, Unsupported
from engine.image.form import Budget, Form, check_long_enough
from engine.image.format import Format
from engine.image.formats.jpeg_markers import (
    CUT_SHORT,
    decode_into,
    decoded_whole,
    frame_of,
    head_of,
)
from engine.image.formats.pillow import (
    encode_with_pillow,
    frame_notes,
    metadata_of_info,
    opened_with_pillow,
    orientation_of,
)
from engine.image.jpeg_quality import nearest_quality
from engine.image.metadata import EXIF_MARK
from engine.image.picture import Picture
from engine.image.scratch import Scratch, bands

# From this quality on, the colours of a JPEG keep the resolution of its brightness.
_FULL_CHROMA_QUALITY = 90
# The length counts itself.
MOST_JPEG_EXIF_BYTES = 65_533 - len(EXIF_MARK)
_PROFILE_MARK = b"ICC_PROFILE\0"
NO_END = "The mark of its end is missing; all of its rows are there."


def read_jpeg(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a JPEG whose data reaches its last row; refuse any other."""
    with _bytes_of(file) as data:
        frame, head = frame_of(data), head_of(data)
        if frame.unsupported:
            raise Unsupported(frame.unsupported)
        frame.check_scans()
        if frame.end is None and not frame.has_all_scans:
            raise Refused(CUT_SHORT)
        with opened_with_pillow(io.BytesIO(head), "JPEG") as image:
            info, mode, (width, height) = image.info, image.mode, image.size
            orientation, notes = (
                orientation_of(image),
                [*frame_notes(image)],
            )
            # The steps of quantisation of its brightness.
            steps = next(iter(getattr(image, "quantization", {}).values()), ())
        is_cmyk = mode == "CMYK"
        form = Form(height, width, 1 if mode == "L" else 3, False, np.dtype(np.uint8))
        inks_bytes = 4 * form.pixel_count if is_cmyk else 0
        budget.check(form, frame.coefficient_bytes + inks_bytes)
        check_long_enough(form, len(data), frame.fewest_bytes)
        source: mmap.mmap | bytes = data
        if frame.end is None:
            source, frame = b"".join((data, b"\xff\xd9")), frame._replace(end=len(data))
            notes.append(NO_END)
        if _PROFILE_MARK in head and not info.get("icc_profile"):
            notes.append("Its colour profile is damaged and was left out.")

        def decode(out: NDArray[np.uint8]) -> None:
            try:
                decode_into(out, source, {"L": "GRAY"}.get(mode, mode))
            except ValueError as error:
                # What is decoded a second time, and a copy of the file.
                budget.check(form, frame.coefficient_bytes + inks_bytes + out.nbytes + len(data))
                out[...], found = decoded_whole(source, frame, str(error), imagecodecs.jpeg8_decode)
                notes.extend(found)

        canvas = Canvas(form, orientation, allocate)
        if is_cmyk:
            inks = Scratch((height, width, 4), np.uint8)
            decode(inks.array)
            notes.append("It was converted from CMYK to RGB without its colour profile.")
            for rows in bands(height, 4 * width):
                # Adobe's programs, and all others after them, store paper, not ink.
                canvas.put_samples(rows, cmyk_to_rgb(~inks.array[rows]))
        else:
            canvas.decode_into(decode)
    quality = nearest_quality(steps) if steps else 0
    metadata = replace(metadata_of_info(info), quality=quality)
    return Decoded(canvas, info.get("icc_profile"), tuple(notes), metadata)


def _bytes_of(source: BinaryIO) -> AbstractContextManager[mmap.mmap | bytes]:
    """Return the bytes of a file, or of one in memory, to be closed."""
    if isinstance(source, io.BytesIO):
        return nullcontext(source.getvalue())
    return mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)


def encode_jpeg(picture: Picture, quality: int) -> bytes:
    """Encode grey or RGB at 8 bit, without the alpha."""
    metadata = picture.metadata
    how = {"quality": int(quality), "subsampling": "4:4:4" if quality >= _FULL_CHROMA_QUALITY else "4:2:0"}
    exif = EXIF_MARK + metadata.exif if metadata.exif else b""
    kept = {"icc_profile": picture.icc_profile, "exif": exif, "dpi": metadata.dpi or (0, 0)}
    return encode_with_pillow("JPEG", picture.pixels, **how, **kept)


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
    encoder_bytes=8,  # Pillow's image, and libjpeg's buffer, of up to twice the file
)
