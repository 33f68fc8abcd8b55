"""Strips and tiles of a TIFF whose compression has no checksum: what a library says of damage in them.

tifffile lets imagecodecs decode them. Its decoder of faxes says nothing, however few of the rows are there:
libtiff, which it has too, decodes them here and names each row that is too short or too long. Its decoder of
LZW ends with the last value that is asked for: here it is asked for one more.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import imagecodecs
import numpy as np

from engine.image.faults import Refused
from engine.image.formats.jpeg_markers import CUT_SHORT, DAMAGED
from engine.image.formats.png import SURPLUS
from engine.image.formats.tiff_jpeg import is_of_jpegs, note_damage_of_jpegs
from engine.image.large.tiff_writer import LONG, Page, Tag, lists_of_tags
from engine.image.library_warnings import said_by_imagecodecs

if TYPE_CHECKING:
    from tifffile import TiffPage

_FAX, _LZW, _JPEG_2000 = (2, 3, 4), 5, (33003, 33004, 33005, 34712)
_FAX_OPTIONS_TAG = 292
_NOT_COMPRESSED, _FIRST_BIT_HIGH, _FIRST_BIT_LOW = 1, 1, 2
# What libtiff says where a fax ends before its last row.
_STOPS_EARLY = "Premature EOF"
_END_OF_CODESTREAM = b"\xff\xd9"

_Segment = tuple[np.ndarray | None, Any, tuple[int, int, int, int]]
_Decode = Callable[..., _Segment]


def note_damage(page: "TiffPage", image: np.ndarray | None, notes: list[str]) -> None:
    """Let the strips or tiles of a page be checked when tifffile reads it, to `image` or arrays of its own.

    What is damaged is added to `notes`. Reading raises Refused where rows are missing.
    """
    compression = int(page.compression)
    if is_of_jpegs(page):
        note_damage_of_jpegs(page, image, notes)
    elif compression in _FAX:
        page.decode = _of_fax(page, page.decode, notes)
    elif compression == _LZW:
        page.decode = _of_lzw(page, notes)
    elif compression in _JPEG_2000:
        page.decode = _of_jpeg_2000(page.decode, notes)


def _of_fax(page: "TiffPage", by_tifffile: _Decode, notes: list[str]) -> _Decode:
    def decode(data: bytes | None, index: int, **settings: Any) -> _Segment:
        _, corner, shape = by_tifffile(None, index)
        if data is None:
            return by_tifffile(None, index, **settings)
        with said_by_imagecodecs() as said:
            try:
                samples = imagecodecs.tiff_decode(_fax(page, data, shape[2], shape[1]), verbose=1)
            except imagecodecs.TiffError as error:
                raise Refused(CUT_SHORT) from error
        if any(words.startswith(_STOPS_EARLY) for words in said):
            raise Refused(CUT_SHORT)
        if said:
            notes.extend([DAMAGED])
        return samples.reshape(shape), corner, shape

    return decode


def _fax(page: "TiffPage", data: bytes, width: int, height: int) -> bytes:
    """Return a TIFF of one strip."""
    values = {256: width, 257: height, 258: 1, 259: int(page.compression), 262: 1, 266: page.fillorder}
    values |= {273: 8, 277: 1, 278: height, 279: len(data)}
    values[_FAX_OPTIONS_TAG] = int(page.tags.valueof(_FAX_OPTIONS_TAG, 0))
    tags = [Tag(code, LONG, [value]) for code, value in values.items()]
    lists, head = lists_of_tags([Page(tags)], 8 + len(data), is_big=False)
    return head + data + lists


def _of_lzw(page: "TiffPage", notes: list[str]) -> _Decode:
    bit_order, page.fillorder = page.fillorder, _FIRST_BIT_HIGH
    compression, page.compression = page.compression, _NOT_COMPRESSED
    not_compressed: _Decode = page.decode
    page.compression, page.fillorder = compression, bit_order
    bits = page.bitspersample if isinstance(page.bitspersample, int) else sum(page.bitspersample)

    def decode(data: bytes | None, index: int, **settings: Any) -> _Segment:
        _, _, shape = not_compressed(None, index)
        if data is None:
            return not_compressed(None, index, **settings)
        if bit_order == _FIRST_BIT_LOW:
            data = bytes(imagecodecs.bitorder_decode(data))
        row_bytes = -(-shape[2] * shape[3] * bits // 8)
        # The last strip may have as many rows as the others.
        whole = shape[0] * (shape[1] if page.is_tiled else page.rowsperstrip) * row_bytes
        content = imagecodecs.lzw_decode(data, out=whole + 1)
        if len(content) > whole or shape[0] * shape[1] * row_bytes < len(content) < whole:
            notes.extend([SURPLUS])
        return not_compressed(content[: shape[0] * shape[1] * row_bytes], index, **settings)

    return decode


def _of_jpeg_2000(by_tifffile: _Decode, notes: list[str]) -> _Decode:
    def decode(data: bytes | None, index: int, **settings: Any) -> _Segment:
        # Bytes that fill up a strip may follow.
        if data is not None and _END_OF_CODESTREAM not in data.rstrip(b"\0")[-16:]:
            notes.extend([DAMAGED])
        return by_tifffile(data, index, **settings)

    return decode
