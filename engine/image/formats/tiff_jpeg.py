"""Strips and tiles of a TIFF that are JPEGs: damage in them becomes a note or a refusal.

tifffile lets imagecodecs decode them, which passes no warnings of libjpeg on: damage would stay silent.
simplejpeg passes the first on. It knows neither the tags nor the tables that strips share, so both are
written into each JPEG. What simplejpeg does not read, or warns of, is decoded by imagecodecs.
"""

import hashlib
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.image.faults import Refused
from engine.image.formats.jpeg_markers import (
    CUT_SHORT,
    FRAMES,
    decode_into,
    frame_of,
    markers,
    notes_on_warning,
    with_surplus,
)

if TYPE_CHECKING:
    from tifffile import TiffPage

_COMPRESSIONS = (6, 7, 33007, 34892)
_RGB, _SEPARATED, _YCBCR = 2, 5, 6
# Quantisers, Huffman codes and conditions of arithmetic codes: libjpeg forgets other shared segments.
_SHARED = (0xDB, 0xC4, 0xCC)
_JFIF, _ADOBE = 0xE0, 0xEE
# Adobe's segment with the transform 0: three components are red, green and blue.
_ADOBE_RGB = bytes.fromhex("ffee000e") + b"Adobe" + bytes.fromhex("00640000000000")
# Offset of the number of components in a frame header.
_COMPONENTS = 9
_START, _END = b"\xff\xd8", b"\xff\xd9"


def is_of_jpegs(page: "TiffPage") -> bool:
    """Return whether the strips or tiles of a page are JPEGs."""
    return int(page.compression) in _COMPRESSIONS


def decoder_of_jpegs(page: "TiffPage", note: Callable[[str], object]) -> Callable[[bytes, int], np.ndarray]:
    """Return what decodes the JPEGs of a page, by their data and number, to samples of shape (H, W, S).

    What is damaged is given to `note`. It raises Refused where the data of a JPEG ends before its last row.
    """
    # Of one page nearly all begin alike.
    head = _Head()

    def by_imagecodecs(data: bytes, number: int) -> np.ndarray:
        # What NDPI's tiles share is there already.
        decoded, _, _ = page.decode(data, number, jpegtables=page.jpegtables, jpegheader=None)
        assert decoded is not None
        samples: np.ndarray = decoded[0]
        return samples

    def decode(data: bytes, number: int) -> np.ndarray:
        nonlocal head
        if page.jpegheader is not None:  # NDPI: tiles share it, and have no end marker
            data = page.jpegheader + data + _END
        its_head = head
        if not its_head.stored or not data.startswith(its_head.stored):
            head = its_head = _head_of(data, page)
        warning = ""
        if its_head.colours and its_head.shape[2] == page.shaped[4]:
            samples = np.empty(its_head.shape, np.uint8)
            try:
                decode_into(samples, its_head.completed(data), its_head.colours)
            except ValueError as error:
                warning = str(error)
            else:
                return samples
        for sentence in notes_on_warning(warning):
            note(sentence)
        frame = frame_of(data)
        longer = with_surplus(data, len(data) if frame.end is None else frame.end)
        # One after the other: a strip may be as large as the picture.
        expected = _digest(by_imagecodecs(longer, number))
        found = by_imagecodecs(data, number)
        if not frame.unsupported and _digest(found) != expected:
            raise Refused(CUT_SHORT)
        return found

    return decode


class _Head(NamedTuple):
    """How JPEGs of a page begin: as stored, up to the number of their components, and as it should be.

    `colours` is what simplejpeg shall decode them to; empty where it does not read them as imagecodecs does.
    """

    stored: bytes = b""
    complete: bytes = b""
    colours: str = ""
    shape: tuple[int, ...] = ()

    def completed(self, data: bytes) -> bytes:
        """Return a JPEG that needs no tags."""
        return data if self.complete == self.stored else self.complete + data[len(self.stored) :]


def _head_of(data: bytes, page: "TiffPage") -> _Head:
    is_jfif = is_rgb = False
    for marker, offset in markers(data):
        if marker in FRAMES:
            break
        is_jfif |= marker == _JFIF
        if marker == _ADOBE:
            is_rgb = data.startswith(_ADOBE_RGB, offset)
    else:
        return _Head()
    stored = data[: offset + _COMPONENTS + 1]
    height, width, samples = struct.unpack_from(">HHB", data, offset + 5)
    photometric, has_extra = int(page.photometric), bool(page.extrasamples)
    colours, model = "", b""
    if samples == 1:
        colours = "GRAY"
    elif samples == 3 and photometric in (_RGB, _YCBCR) and not has_extra:
        colours = "RGB"
        # Without a JFIF segment, RGB is what the tag says, whatever the JPEG says.
        if photometric == _RGB and not page.is_jfif:
            if is_jfif:
                return _Head()
            model = b"" if is_rgb else _ADOBE_RGB
    elif samples == 4 and (photometric == _SEPARATED or has_extra):
        colours = "CMYK"
    tables = _tables(page)
    complete = b"".join((_START, tables, stored[len(_START) : offset], model, stored[offset:]))
    return _Head(stored, complete, colours, (height, width, samples))


def _digest(samples: np.ndarray) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(samples).data).digest()


def _tables(page: "TiffPage") -> bytes:
    """Return the segments that the JPEGs of a page share."""
    shared = page.jpegtables or b""
    return b"".join(
        shared[offset : offset + 2 + int.from_bytes(shared[offset + 2 : offset + 4], "big")]
        for marker, offset in markers(shared)
        if marker in _SHARED
    )
