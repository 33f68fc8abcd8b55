"""Strips and tiles of a TIFF that are pictures of their own: all are checked before they are decoded.

A decoder takes memory for the size that is in the inner picture, whatever the tags of the TIFF say. tifffile
lets imagecodecs decode JPEGs, which passes no warnings of libjpeg on: damage would stay silent. simplejpeg
passes the first on. It knows neither the tags nor the tables that strips share, so both are written into each
JPEG. What simplejpeg does not read, or warns of, is decoded by imagecodecs.
"""

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from engine.image.faults import Refused
from engine.image.formats.headers import first_boxes
from engine.image.formats.jpeg_markers import (
    FRAMES,
    decode_into,
    decoded_whole,
    frame_of,
    markers,
)

if TYPE_CHECKING:
    from tifffile import TiffPage


# Compressions of TIFF whose strips and tiles are pictures of their own.
JPEGS, JPEGS_2000 = (6, 7, 33007, 34892), (33003, 33004, 33005, 34712)


def _size_of_jpeg(data: bytes) -> tuple[int, int]:
    frame = frame_of(data)
    if frame.end is None:
        raise Refused("a JPEG in it ends before its last row: it was cut short")
    frame.check_scans()
    return frame.width, frame.height


def _size_of_jpeg2000(data: bytes, most_samples: int) -> tuple[int, int]:
    begin = b"\xff\x4f\xff\x51"
    code = data if data.startswith(begin) else first_boxes(data).get(b"jp2c", b"")
    if not code.startswith(begin):
        raise Refused("a strip or tile of it is no JPEG 2000 picture")
    right, bottom, left, top = struct.unpack_from(">4I", code, 8)
    (samples,) = struct.unpack_from(">H", code, 40)
    if samples > most_samples:
        raise Refused(f"a strip or tile of it has {samples:,} values per pixel, its tags say {most_samples}")
    return right - left, bottom - top


def checked_picture(page: "TiffPage", data: bytes, whole: tuple[int, int], cut: tuple[int, int]) -> bytes:
    """Return the picture of its own that a strip or tile is.

    Raises Refused where its rows and columns are neither those of `whole` ones nor those that are left where
    the page ends, `cut`.
    """
    if page.jpegheader:  # NDPI: tiles share a header, and have no end marker
        data = page.jpegheader + data + _END
    try:
        is_jpeg, most_samples = page.compression in JPEGS, max(page.shaped[0], page.shaped[4])
        width, height = _size_of_jpeg(data) if is_jpeg else _size_of_jpeg2000(data, most_samples)
    except (struct.error, IndexError) as error:
        raise Refused("the header of a strip or tile of it is damaged or cut short") from error
    if height not in (whole[0], cut[0]) or width not in (whole[1], cut[1]):
        raise Refused(
            f"a strip or tile of it holds {width:,} × {height:,} pixels, its tags say "
            f"{whole[1]:,} × {whole[0]:,}"
        )
    return data


_RGB, _SEPARATED, _YCBCR = 2, 5, 6
# Quantisers, Huffman codes and conditions of arithmetic codes: libjpeg forgets other shared segments.
_SHARED = (0xDB, 0xC4, 0xCC)
_JFIF, _ADOBE = 0xE0, 0xEE
# Adobe's segment with the transform 0: three components are red, green and blue.
_ADOBE_RGB = bytes.fromhex("ffee000e") + b"Adobe" + bytes.fromhex("00640000000000")
_START, _END = b"\xff\xd8", b"\xff\xd9"


def decoder_of_jpegs(page: "TiffPage", note: Callable[[str], object]) -> Callable[[bytes, int], np.ndarray]:
    """Return what decodes the JPEGs of a page, by their data and number, to samples of shape (H, W, S).

    What is damaged is given to `note`. It raises Refused where the data of a JPEG ends before its last row.
    """
    tables = _tables(page)

    def by_imagecodecs(data: bytes, number: int) -> np.ndarray:
        # What NDPI's tiles share is there already.
        decoded, _, _ = page.decode(data, number, jpegtables=page.jpegtables, jpegheader=None)
        assert decoded is not None
        samples: np.ndarray = decoded[0]
        return samples

    def decode(data: bytes, number: int) -> np.ndarray:
        complete, colours, shape = _completed(page, data, tables)
        warning = ""
        if colours and shape[2] == page.shaped[4]:
            samples = np.empty(shape, np.uint8)
            try:
                decode_into(samples, complete, colours)
                return samples
            except ValueError as error:
                warning = str(error)
        found, notes = decoded_whole(
            data, frame_of(data), warning, lambda data: by_imagecodecs(bytes(data), number)
        )
        for sentence in notes:
            note(sentence)
        return found

    return decode


def _completed(page: "TiffPage", data: bytes, tables: bytes) -> tuple[bytes, str, tuple[int, ...]]:
    """Return a JPEG that needs no tags, the colours that simplejpeg shall decode it to, and its shape.

    No colours: it does not read them as imagecodecs does.
    """
    is_jfif = is_rgb = False
    for marker, offset in markers(data):
        if marker in FRAMES:
            break
        is_jfif |= marker == _JFIF
        if marker == _ADOBE:
            is_rgb = data.startswith(_ADOBE_RGB, offset)
    else:
        return data, "", ()
    height, width, samples = struct.unpack_from(">HHB", data, offset + 5)
    photometric, has_extra = int(page.photometric), bool(page.extrasamples)
    colours, model = "", b""
    if samples == 1:
        colours = "GRAY"
    elif samples == 3 and photometric in (_RGB, _YCBCR) and not has_extra:
        # Without a JFIF segment, RGB is what the tag says, whatever the JPEG says.
        is_of_tag = photometric == _RGB and not page.is_jfif
        colours = "" if is_of_tag and is_jfif else "RGB"
        model = _ADOBE_RGB if is_of_tag and not is_rgb else b""
    elif samples == 4 and (photometric == _SEPARATED or has_extra):
        colours = "CMYK"
    if tables or model:
        data = b"".join((_START, tables, data[len(_START) : offset], model, data[offset:]))
    return data, colours, (height, width, samples)


def _tables(page: "TiffPage") -> bytes:
    """Return the segments that the JPEGs of a page share."""
    shared = page.jpegtables or b""
    return b"".join(
        shared[offset : offset + 2 + int.from_bytes(shared[offset + 2 : offset + 4], "big")]
        for marker, offset in markers(shared)
        if marker in _SHARED
    )
