"""The strips and tiles of a TIFF page, decoded one by one.

tifffile lets imagecodecs decode them, and much damage stays silent there. So libtiff, whose words are
heard, decodes faxes here, and names each row that is too short or too long. LZW, whose decoder ends
with the last value that is asked for, is asked for one more. JPEGs are decoded in `tiff_inner`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import imagecodecs
import numpy as np

from engine.image.faults import Refused, said_by_imagecodecs
from engine.image.formats.jpeg_markers import CUT_SHORT, DAMAGED
from engine.image.formats.png import SURPLUS
from engine.image.formats.tiff_inner import JPEGS, JPEGS_2000, checked_picture, decoder_of_jpegs
from engine.image.large.source import BytesAt
from engine.image.large.tiff_writer import LONG, Tag, header, list_of_tags

if TYPE_CHECKING:
    from tifffile import TiffPage

_FAX, _LZW = (2, 3, 4), 5
_NO_PREDICTOR = 1
_FAX_OPTIONS_TAG = 292
_NOT_COMPRESSED, _FIRST_BIT_HIGH, _FIRST_BIT_LOW = 1, 1, 2
# What libtiff says where a fax ends before its last row.
_STOPS_EARLY = "Premature EOF"
_END_OF_CODESTREAM = b"\xff\xd9"


Note = Callable[[str], object]
Decode = Callable[[bytes, int], np.ndarray]


class PageSegments:
    """The strips or tiles of a page.

    `note` is called with a sentence on what is damaged. Reading raises Refused where rows are missing.
    """

    def __init__(self, page: "TiffPage", data: BytesAt, note: Note) -> None:
        self.page, self._data, self._note = page, data, note
        self._decode = _decoder(page, note)
        self.shape = segment_shape(page)
        _, _, height, width, _ = page.shaped
        self._down, self._across = -(-height // self.shape[0]), -(-width // self.shape[1])

    def samples(self, row: int, column: int) -> np.ndarray:
        """Return (rows, columns, samples of all planes) of a strip or tile, in the page's number type."""
        planes, _, height, width, _ = self.page.shaped
        rows = min(self.shape[0], height - row * self.shape[0])
        columns = min(self.shape[1], width - column * self.shape[1])
        parts = [
            self._plane((plane * self._down + row) * self._across + column, rows, columns)
            for plane in range(planes)
        ]
        return parts[0] if planes == 1 else np.concatenate(parts, axis=2)

    def _plane(self, number: int, rows: int, columns: int) -> np.ndarray:
        page = self.page
        if number >= len(page.databytecounts):
            raise Refused("it lists fewer strips or tiles than its size needs")
        size = page.databytecounts[number]
        if not size:
            # A hole: `checked_page` has said so, or refused it.
            return np.zeros((rows, columns, page.shaped[4]), page.dtype)
        data = self._data.read(page.dataoffsets[number], size)
        if page.compression in (*JPEGS, *JPEGS_2000):
            data = checked_picture(page, data, self.shape, (rows, columns))
        samples = self._decode(data, number)[:rows, :columns]
        if samples.shape[:2] != (rows, columns):
            raise Refused("a strip or tile of it is smaller than its tags say")
        return samples


def bytes_beside(page: "TiffPage", picture_bytes: int) -> int:
    """Return the most memory that reading takes beside the picture."""
    if is_stored_plainly(page):
        return 0
    compressed = max(page.databytecounts, default=0)
    if page.compression in JPEGS:
        compressed *= 2  # and once more with what the tags say of it
    longer = max(0, page.size * np.dtype(page.dtype).itemsize - picture_bytes)
    return longer + compressed + segment_bytes(page)


def is_stored_plainly(page: "TiffPage") -> bool:
    """Return whether the rows of a page lie in the file one after the other, as they are."""
    return (
        page.is_contiguous
        and not page.is_subsampled
        and page.fillorder == 1
        and page.predictor == _NO_PREDICTOR
    )


def segment_shape(page: "TiffPage") -> tuple[int, int]:
    """Return rows and columns of the strips or tiles of a page."""
    if page.is_tiled:
        return page.tilelength, page.tilewidth
    return min(page.rowsperstrip, page.imagelength), page.imagewidth


def segment_bytes(page: "TiffPage") -> int:
    """Return the bytes of a decoded strip or tile."""
    rows, columns = segment_shape(page)
    samples = page.samplesperpixel if page.planarconfig == 1 else 1
    return int(rows * columns * samples * np.dtype(page.dtype).itemsize)


def _decoder(page: "TiffPage", note: Note) -> Decode:
    """Return what decodes a strip or tile, by its data and number, to (rows, columns, samples)."""
    compression = int(page.compression)
    if compression in JPEGS:
        return decoder_of_jpegs(page, note)
    if compression in _FAX:
        return _of_fax(page, note)
    if compression == _LZW:
        return _of_lzw(page, note)

    def decode(data: bytes, number: int) -> np.ndarray:
        # Bytes that fill up a strip may follow.
        if compression in JPEGS_2000 and _END_OF_CODESTREAM not in data.rstrip(b"\0")[-16:]:
            note(DAMAGED)
        return _decoded(page.decode(data, number))

    return decode


def _decoded(segment: tuple[np.ndarray | None, object, object]) -> np.ndarray:
    assert segment[0] is not None
    samples: np.ndarray = segment[0][0]
    return samples


def _of_fax(page: "TiffPage", note: Note) -> Decode:
    def decode(data: bytes, number: int) -> np.ndarray:
        _, _, (_, rows, columns, _) = page.decode(None, number)
        with said_by_imagecodecs() as said:
            try:
                samples = imagecodecs.tiff_decode(_fax(page, data, columns, rows), verbose=1)
            except imagecodecs.TiffError as error:
                raise Refused(CUT_SHORT) from error
        if any(words.startswith(_STOPS_EARLY) for words in said):
            raise Refused(CUT_SHORT)
        if said:
            note(DAMAGED)
        return samples.reshape(rows, columns, 1)

    return decode


def _fax(page: "TiffPage", data: bytes, width: int, height: int) -> bytes:
    """Return a TIFF of one strip."""
    values = {256: width, 257: height, 258: 1, 259: int(page.compression), 262: 1, 266: page.fillorder}
    values |= {273: 8, 277: 1, 278: height, 279: len(data)}
    values[_FAX_OPTIONS_TAG] = int(page.tags.valueof(_FAX_OPTIONS_TAG, 0))
    tags = [Tag(code, LONG, [value]) for code, value in values.items()]
    tail, begin = list_of_tags(tags, 8 + len(data), is_big=False)
    return header(begin, is_big=False) + data + tail


def _of_lzw(page: "TiffPage", note: Note) -> Decode:
    bit_order, page.fillorder = page.fillorder, _FIRST_BIT_HIGH
    compression, page.compression = page.compression, _NOT_COMPRESSED
    not_compressed = page.decode
    page.compression, page.fillorder = compression, bit_order
    bits = page.bitspersample if isinstance(page.bitspersample, int) else sum(page.bitspersample)

    def decode(data: bytes, number: int) -> np.ndarray:
        _, _, (_, rows, columns, samples) = not_compressed(None, number)
        if bit_order == _FIRST_BIT_LOW:
            data = bytes(imagecodecs.bitorder_decode(data))
        row_bytes = -(-columns * samples * bits // 8)
        # The last strip may have as many rows as the others.
        whole = (rows if page.is_tiled else page.rowsperstrip) * row_bytes
        content = imagecodecs.lzw_decode(data, out=whole + 1)
        if len(content) > whole or rows * row_bytes < len(content) < whole:
            note(SURPLUS)
        return _decoded(not_compressed(content[: rows * row_bytes], number))

    return decode
