"""TIFF: tifffile reads the tags, `tiff_segments` the samples, `tiff_pixels` makes them a picture.

Pillow cuts 16-bit RGB to 8 bit and OpenCV garbles planar files; tifffile decoded 46 of 46 test files exactly.
"""

from contextlib import closing
from fractions import Fraction
from typing import BinaryIO

import numpy as np

from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.form import Budget
from engine.image.format import Format
from engine.image.formats.tiff_page import (
    RESOLUTION_TAG,
    RESOLUTION_UNIT_TAG,
    TIFF_UNSUPPORTED,
    Y_RESOLUTION_TAG,
    checked_page,
    metadata_of_page,
    orientation_of,
    picture_page,
    profile_of,
    silence_libraries,
)
from engine.image.large.result import CheckedFile
from engine.image.large.source import BytesAt, Storage
from engine.image.large.tiff_reader import in_parts
from engine.image.large.tiff_writer import RATIONAL, SHORT, Tag, TiffResult
from engine.image.picture import Picture, with_alpha

_STRIP_BYTES = 1 << 18
_MOST_DIVISOR, _PER_INCH = 10_000, 2


def read_tiff(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode the picture of a TIFF or BigTIFF: its first page, unless that is a reduced version."""
    # 40 ms: loaded with the first TIFF.
    from tifffile import TiffFile

    silence_libraries()
    data = BytesAt(file)
    with TiffFile(file) as tiff:
        page, others = picture_page(tiff)
        form, notes = checked_page(page, data.size, budget)
        canvas = Canvas(form, orientation_of(page), allocate)
        with in_parts(data, [[page]], form, notes) as picture:
            picture.decode_onto(canvas)
            return Decoded(canvas, profile_of(page), (*picture.notes, *others), metadata_of_page(page))


def encode_tiff(picture: Picture, quality: int) -> bytes:
    """Encode any of our depths, deflated (exact) with a predictor, as a result in bands is."""
    samples, metadata = with_alpha(picture).reshape(picture.height, picture.width, -1), picture.metadata
    tags = []
    for code, value in zip((RESOLUTION_TAG, Y_RESOLUTION_TAG), metadata.dpi or (), strict=False):
        tags.append(Tag(code, RATIONAL, Fraction(value).limit_denominator(_MOST_DIVISOR).as_integer_ratio()))
    if tags:
        tags.append(Tag(RESOLUTION_UNIT_TAG, SHORT, [_PER_INCH]))
    strip = max(1, _STRIP_BYTES // samples[0].nbytes), picture.width
    details = {"tags": tags, "metadata": metadata}
    storage = Storage("tiff", strip, is_tiled=False, compression="deflate", details=details)
    file = CheckedFile()
    with closing(
        TiffResult(
            file,
            CheckedFile(),
            storage,
            samples.shape,
            samples.dtype,
            has_alpha=picture.alpha is not None,
            icc_profile=picture.icc_profile,
        )
    ) as result:
        result.write(0, 0, samples)
        result.finish()
        return file.content()


TIFF = Format(
    "TIFF",
    suffixes=(".tif", ".tiff"),
    signatures=(b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"),
    decode=read_tiff,
    unsupported=TIFF_UNSUPPORTED,
    encode=encode_tiff,
    saved_suffixes=(".tif", ".tiff"),
    dtypes=(np.uint8, np.uint16, np.float32),
    most_exif_bytes=2**31 - 1,
)
