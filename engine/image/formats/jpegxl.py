"""JPEG XL, by imagecodecs (libjxl): 8 and 16 bit, half and float, upright."""

import re
import struct
from typing import Any, BinaryIO

import imagecodecs
import numpy as np

from engine.image.convert import converted, sample_type
from engine.image.faults import Unsupported
from engine.image.format import Budget, Decoded, Form, Format
from engine.image.formats.jpeg import decoded_jpeg
from engine.image.formats.pillow import first_boxes
from engine.image.metadata import EXIF_MARK, XMP, exif_with_resolution, metadata_of, note_of_first
from engine.image.picture import Picture, with_alpha

# What libjxl holds beside the result, bytes per pixel: three colours as float32, and their coefficients.
_DECODER_BYTES = 32
# Of 1 to 9: 7, libjxl's own, takes nine times as long for files of the same size, and without loss 14 times
# for 0.81 of it.
_EFFORT = 3
# 12 bits have smaller values. Of how many they are imagecodecs says nothing.
_LEAST_OF_16_BIT = 4096
# Whether it has a profile, imagecodecs does not say.
_SRGB = "Its colours are taken as sRGB: a colour profile of a JPEG XL is not read."


_SHAPE = re.compile(r", shape=\(([\d, ]+)\)")
_TYPE = re.compile(r", dtype=.*?((?:u?int|float)\d+|[uif][1248])\b")


def _measured(data: bytes) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape (H, W, C) of a picture, frames first where there are several, and its type.

    imagecodecs reads the header, and says of an array into which the picture does not fit which one would:
    called with an empty one, it decodes nothing.
    """
    dtype = np.dtype(np.uint8)
    for _ in range(2):  # the type is compared before the shape
        try:
            imagecodecs.jpegxl_decode(data, out=np.empty(0, dtype))
        except ValueError as error:
            if match := _SHAPE.search(str(error)):
                shape = tuple(map(int, match[1].split(",")))
                return (*shape, 1) if len(shape) == 2 else shape, dtype
            if match := _TYPE.search(str(error)):
                dtype = np.dtype(match[1])
    raise Unsupported("its decoder does not say how large it is")


def read_jpegxl(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode a JPEG XL; of an animation the first frame, of a packed JPEG that JPEG."""
    data = file.read()
    inner = first_boxes(data)
    (*frames, height, width, samples), stored = _measured(data)
    if not 1 <= samples <= 4:
        raise Unsupported("it has further channels beside its colours and an alpha")
    dtype, of_type = sample_type(stored)
    form = Form.of_samples(height, width, samples, dtype)
    budget.check(form, form.decoded_bytes + _DECODER_BYTES * form.pixel_count + 2 * len(data))
    if b"jbrd" in inner:
        packed = imagecodecs.jpegxl_decode_jpeg(data)  # type: ignore[call-arg]  # its stub is wrong
        return decoded_jpeg(bytes(packed), budget)
    decoded = converted(imagecodecs.jpegxl_decode(data, index=0), dtype)
    notes = (_SRGB, *(note_of_first(frames[0], "frame") if frames else ()), *of_type)
    if decoded.dtype == np.uint16 and decoded.max() < _LEAST_OF_16_BIT:
        notes += (f"All of its values are below {_LEAST_OF_16_BIT:,}: 10 or 12 bits are not scaled.",)
    content = inner.get(b"Exif", b"")
    # Its first bytes say how many lie before the data.
    exif = content[4 + int.from_bytes(content[:4], "big") :]
    has_xmp = b"xml " in inner or inner.get(b"brob", b"").startswith(b"xml ")
    metadata = metadata_of(exif, left_out=(XMP,) if has_xmp else ())
    return Decoded(budget.canvas_of(decoded), None, notes, metadata)


def encode_jpegxl(picture: Picture, quality: int) -> bytes:
    """Encode any of our depths; exact at quality 100, and where there are floats, whose range libjxl cuts."""
    is_exact = quality == 100 or picture.dtype == np.float32
    # As libjxl's own programs have it: 90 is as good as the eye.
    distance = 0.0 if is_exact else 0.1 + (100 - quality) * 0.09
    exif = exif_with_resolution(picture.metadata)
    how: dict[str, Any] = {"distance": distance, "lossless": is_exact, "effort": _EFFORT}
    data = bytes(imagecodecs.jpegxl_encode(with_alpha(picture), usecontainer=bool(exif) or None, **how))
    if not exif:
        return data
    # A box may follow the pixels. Its content begins with how many bytes lie before the EXIF data.
    content = bytes(4) + exif.removeprefix(EXIF_MARK)
    return data + struct.pack(">I4s", 8 + len(content), b"Exif") + content


JPEG_XL = Format(
    "JPEG XL",
    suffixes=(".jxl",),
    signatures=(b"\xff\x0a", b"\x00\x00\x00\x0cJXL \r\n\x87\n"),
    decode=read_jpegxl,
    encode=encode_jpegxl,
    saved_suffixes=(".jxl",),
    dtypes=(np.uint8, np.uint16, np.float32),
    has_quality=True,
    keeps_profile=False,
    most_exif_bytes=2**31 - 1,
    encoder_bytes=64,  # measured: 42 to 62
)
