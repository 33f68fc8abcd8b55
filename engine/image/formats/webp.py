"""WebP: Pillow reads the header, imagecodecs (libwebp) decodes the picture into its place.

Pillow decodes every WebP as an animation: two canvases of 4 bytes per pixel, and copies of them.
"""

from typing import BinaryIO

import imagecodecs
import numpy as np

from engine.image.format import Budget, Decoded, Form, Format
from engine.image.formats.pillow import encode_with_pillow, metadata_of_info, opened_with_pillow
from engine.image.metadata import note_of_first, orientation_in
from engine.image.picture import Picture

# Offset of the name of the first chunk, and that of a lossy picture without anything else.
_FIRST_CHUNK, _LOSSY = 12, b"VP8 "
# What is held beside the picture, bytes per pixel. libwebp: all pixels of a lossless picture, which an alpha
# may be too, and its plane. Animations: two canvases beside them.
_LOSSLESS_BYTES, _ALPHA_PLANE_BYTES, _ANIMATION_BYTES = 4, 1, 8
# Of a file with more than pixels: flags, of which one says that it is an animation.
_FLAGS, _IS_ANIMATION = 20, 2


def read_webp(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode a WebP; of an animation the first frame."""
    data = file.read()
    with opened_with_pillow(file, "WEBP") as image:
        (width, height), has_alpha, info = image.size, image.mode == "RGBA", image.info
        orientation = orientation_in(image.getexif)
        notes = note_of_first(getattr(image, "n_frames", 1), "frame")
    form = Form(height, width, 3, has_alpha, np.dtype(np.uint8))
    is_lossy = data[_FIRST_CHUNK : _FIRST_CHUNK + 4] == _LOSSY
    beside = 0 if is_lossy else _LOSSLESS_BYTES + _ALPHA_PLANE_BYTES * has_alpha
    if data[_FIRST_CHUNK:].startswith(b"VP8X") and data[_FLAGS] & _IS_ANIMATION:
        beside += _ANIMATION_BYTES
    budget.check(form, form.pixel_count * beside + 2 * len(data))
    if is_lossy:
        # More than a bit for each 16 x 16 pixels; a lossless picture of one colour takes none at all.
        form.check_long_enough(len(data), -(-width // 16) * -(-height // 16) // 8)
    canvas = budget.canvas(form, orientation)
    canvas.decode_into(lambda out: imagecodecs.webp_decode(data, index=0, hasalpha=has_alpha, out=out))
    return Decoded(canvas, info.get("icc_profile"), notes, metadata_of_info(info))


def encode_webp(picture: Picture, quality: int) -> bytes:
    """Encode RGB at 8 bit with its alpha; exact at quality 100, clear pixels included."""
    return encode_with_pillow("WEBP", picture, quality, lossless=quality == 100, exact=True)


WEBP = Format(
    "WebP",
    suffixes=(".webp",),
    signatures=(b"RIFF????WEBP",),
    decode=read_webp,
    encode=encode_webp,
    saved_suffixes=(".webp",),
    dtypes=(np.uint8,),
    has_quality=True,
    keeps_grey=False,
    most_exif_bytes=2**31 - 1,
    max_side=16_383,
    encoder_bytes=16,  # Pillow's image, and what libwebp compares (measured: 15)
)
