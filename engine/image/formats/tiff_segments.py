"""The strips and tiles of a TIFF page, decoded one by one.

tifffile lets imagecodecs decode them, and much damage stays silent there. So libtiff, whose messages
are collected, decodes faxes here, and names each row that is too short or too long. LZW, whose decoder ends
with the last requested value, has to decode one more.

Those that are pictures of their own are checked before: a decoder takes memory for the size that is in the
inner picture, whatever the tags say. Of JPEGs imagecodecs passes no warnings on, simplejpeg the first. It
knows neither the tags nor the tables that strips share, so both are written into each JPEG. What it does not
read, or warns of, is decoded by imagecodecs.
"""

import struct
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import imagecodecs
import numpy as np

from engine.image.codec_log import imagecodecs_messages
from engine.image.faults import Refused
from engine.image.formats.jpeg import CUT_SHORT, DAMAGED, FRAMES, decoded_whole, frame_of, markers
from engine.image.formats.pillow import first_boxes
from engine.image.formats.png import SURPLUS
from engine.image.large.source import BytesAt
from engine.image.metadata import TiffTag

if TYPE_CHECKING:
    from tifffile import TiffPage

_FAX, _LZW = (2, 3, 4), 5
# Compressions whose strips and tiles are pictures of their own.
_JPEGS, _JPEGS_2000 = (6, 7, 33007, 34892), (33003, 33004, 33005, 34712)
_NO_PREDICTOR, _NOT_COMPRESSED, _FIRST_BIT_HIGH, _FIRST_BIT_LOW = 1, 1, 1, 2
_RGB, _SEPARATED, _YCBCR = 2, 5, 6
# What libtiff says where a fax ends before its last row.
_STOPS_EARLY = "Premature EOF"
# The markers of begin and end, of JPEG 2000 too.
_START, _END = b"\xff\xd8", b"\xff\xd9"
# Quantisers, Huffman codes and conditions of arithmetic codes: libjpeg forgets other shared segments.
_SHARED = (0xDB, 0xC4, 0xCC)
_JFIF, _ADOBE = 0xE0, 0xEE
# Adobe's segment with the transform 0: three components are red, green and blue.
_ADOBE_RGB = bytes.fromhex("ffee000e") + b"Adobe" + bytes.fromhex("00640000000000")


class PageSegments:
    """The strips or tiles of a page.

    `note` is called with sentences on what is damaged. Reading raises Refused where rows are missing.
    """

    def __init__(self, page: "TiffPage", data: BytesAt, note: Callable[..., object]) -> None:
        self.page, self._data, self._note = page, data, note
        self.shape = segment_shape(page)
        _, _, height, width, _ = page.shaped
        self._down, self._across = -(-height // self.shape[0]), -(-width // self.shape[1])
        if page.compression == _LZW:
            bit_order, page.fillorder = page.fillorder, _FIRST_BIT_HIGH
            compression, page.compression = page.compression, _NOT_COMPRESSED
            self._not_compressed: Any = page.decode
            page.compression, page.fillorder = compression, bit_order
        elif page.compression in _JPEGS:
            shared = page.jpegtables or b""
            begins = [offset for marker, offset in markers(shared) if marker in _SHARED]
            sizes = (2 + int.from_bytes(shared[begin + 2 : begin + 4], "big") for begin in begins)
            self._tables = b"".join(shared[at : at + size] for at, size in zip(begins, sizes, strict=True))

    def samples(self, row: int, column: int) -> np.ndarray:
        """Return (rows, columns, samples of all planes) of a strip or tile, in the page's number type."""
        planes, _, height, width, _ = self.page.shaped
        rows = min(self.shape[0], height - row * self.shape[0])
        columns = min(self.shape[1], width - column * self.shape[1])
        numbers = [(plane * self._down + row) * self._across + column for plane in range(planes)]
        parts = [self._plane(number, rows, columns) for number in numbers]
        return parts[0] if planes == 1 else np.concatenate(parts, axis=2)

    def _plane(self, number: int, rows: int, columns: int) -> np.ndarray:
        page, compression = self.page, int(self.page.compression)
        if number >= len(page.databytecounts):
            raise Refused("it lists fewer strips or tiles than its size needs")
        size = page.databytecounts[number]
        if not size:
            # A hole: `checked_page` has noted it, or refused it.
            return np.zeros((rows, columns, page.shaped[4]), page.dtype)
        data = self._data.read(page.dataoffsets[number], size)
        decode = self._fax if compression in _FAX else self._lzw if compression == _LZW else self._by_tifffile
        if compression in (*_JPEGS, *_JPEGS_2000):
            if page.jpegheader:  # NDPI: tiles share a header, and have no end marker
                data = page.jpegheader + data + _END
            _check_size(page, data, self.shape, (rows, columns))
            decode = self._jpeg if compression in _JPEGS else decode
            # Bytes that fill up a strip may follow.
            if compression in _JPEGS_2000 and _END not in data.rstrip(b"\0")[-16:]:
                self._note(DAMAGED)
        samples = decode(data, number)[:rows, :columns]
        if samples.shape[:2] != (rows, columns):
            raise Refused("a strip or tile of it is smaller than its tags say")
        return samples

    # Each decoder returns (rows, columns, samples).

    def _by_tifffile(self, data: bytes, number: int) -> np.ndarray:
        decode: Any = self.page.decode
        # What NDPI's tiles share is there already.
        samples: np.ndarray = decode(data, number, jpegtables=self.page.jpegtables, jpegheader=None)[0][0]
        return samples

    def _fax(self, data: bytes, number: int) -> np.ndarray:
        page, (_, _, (_, rows, columns, _)) = self.page, self.page.decode(None, number)
        # As a TIFF of one strip.
        values = {TiffTag.WIDTH: columns, TiffTag.HEIGHT: rows, TiffTag.ROWS_PER_STRIP: rows}
        values |= {TiffTag.BITS: 1, TiffTag.PHOTOMETRIC: 1, TiffTag.SAMPLES: 1}
        values |= {TiffTag.COMPRESSION: int(page.compression), TiffTag.FILL_ORDER: page.fillorder}
        values |= {TiffTag.STRIP_OFFSETS: 8, TiffTag.STRIP_BYTES: len(data)}
        values[TiffTag.FAX_OPTIONS] = int(page.tags.valueof(TiffTag.FAX_OPTIONS, 0))
        tags: Tags = {code: (LONG, [value]) for code, value in values.items()}
        tail, begin = list_of_tags(tags, 8 + len(data), is_big=False)
        with imagecodecs_messages() as messages:
            try:
                samples = imagecodecs.tiff_decode(header(begin, is_big=False) + data + tail, verbose=1)
            except imagecodecs.TiffError as error:
                raise Refused(CUT_SHORT) from error
        if any(words.startswith(_STOPS_EARLY) for words in messages):
            raise Refused(CUT_SHORT)
        if messages:
            self._note(DAMAGED)
        return samples.reshape(rows, columns, 1)

    def _lzw(self, data: bytes, number: int) -> np.ndarray:
        page = self.page
        _, _, (_, rows, columns, samples) = self._not_compressed(None, number)
        if page.fillorder == _FIRST_BIT_LOW:
            data = bytes(imagecodecs.bitorder_decode(data))
        bits = page.bitspersample if isinstance(page.bitspersample, int) else sum(page.bitspersample)
        row_bytes = -(-columns * samples * bits // 8)
        # The last strip may have as many rows as the others.
        whole = (rows if page.is_tiled else page.rowsperstrip) * row_bytes
        content = imagecodecs.lzw_decode(data, out=whole + 1)
        if len(content) > whole or rows * row_bytes < len(content) < whole:
            self._note(SURPLUS)
        values: np.ndarray = self._not_compressed(content[: rows * row_bytes], number)[0][0]
        return values

    def _jpeg(self, data: bytes, number: int) -> np.ndarray:
        complete, colours, shape = self._completed(data)
        warning = ""
        if colours and shape[2] == self.page.shaped[4]:
            samples = np.empty(shape, np.uint8)
            try:
                import_module("simplejpeg").decode_jpeg(complete, colours, buffer=samples)
                return samples
            except ValueError as error:
                warning = str(error)
        decode = self._by_tifffile
        pixels, notes = decoded_whole(data, frame_of(data), warning, lambda one: decode(bytes(one), number))
        self._note(*notes)
        return pixels

    def _completed(self, data: bytes) -> tuple[bytes, str, tuple[int, ...]]:
        """Return a JPEG that needs no tags, colours for simplejpeg ("": it reads others), and its shape."""
        page, is_jfif, is_rgb = self.page, False, False
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
        if self._tables or model:
            data = b"".join((_START, self._tables, data[len(_START) : offset], model, data[offset:]))
        return data, colours, (height, width, samples)


def _check_size(page: "TiffPage", data: bytes, whole: tuple[int, int], cut: tuple[int, int]) -> None:
    """Refuse an inner picture whose sides are not those of a `whole` one, or of one `cut` by the page."""
    try:
        if page.compression in _JPEGS:
            frame = frame_of(data)
            if frame.end is None:
                raise Refused("a JPEG in it ends before its last row: it was cut short")
            frame.check_scans()
            width, height = frame.width, frame.height
        else:
            start, most = b"\xff\x4f\xff\x51", max(page.shaped[0], page.shaped[4])
            code = data if data.startswith(start) else first_boxes(data).get(b"jp2c", b"")
            if not code.startswith(start):
                raise Refused("a strip or tile of it is no JPEG 2000 picture")
            right, bottom, left, top = struct.unpack_from(">4I", code, 8)
            width, height, (samples,) = right - left, bottom - top, struct.unpack_from(">H", code, 40)
            if samples > most:
                raise Refused(f"a strip or tile of it has {samples:,} values per pixel, its tags say {most}")
    except (struct.error, IndexError) as error:
        raise Refused("the header of a strip or tile of it is damaged or cut short") from error
    if height not in (whole[0], cut[0]) or width not in (whole[1], cut[1]):
        what = f"a strip or tile of it holds {width:,} × {height:,} pixels"
        raise Refused(f"{what}, its tags say {whole[1]:,} × {whole[0]:,}")


def bytes_beside(page: "TiffPage", picture_bytes: int) -> int:
    """Return the most memory that reading takes beside the picture."""
    if is_stored_plainly(page):
        return 0
    compressed = max(page.databytecounts, default=0)
    if page.compression in _JPEGS:
        compressed *= 2  # and once more with what the tags say of it
    longer = max(0, page.size * np.dtype(page.dtype).itemsize - picture_bytes)
    return longer + compressed + segment_bytes(page)


def is_stored_plainly(page: "TiffPage") -> bool:
    """Return whether the rows of a page lie in the file one after the other, as they are."""
    is_in_order = page.is_contiguous and page.fillorder == 1
    return is_in_order and not page.is_subsampled and page.predictor == _NO_PREDICTOR


def segment_shape(page: "TiffPage") -> tuple[int, int]:
    """Return rows and columns of the strips or tiles of a page."""
    if page.is_tiled:
        return page.tilelength, page.tilewidth
    return min(page.rowsperstrip, page.imagelength), page.imagewidth


def segment_bytes(page: "TiffPage") -> int:
    """Return the bytes of a decoded strip or tile."""
    samples = page.samplesperpixel if page.planarconfig == 1 else 1
    return int(np.prod(segment_shape(page), dtype=object) * samples * np.dtype(page.dtype).itemsize)


# Types of values: number, NumPy type.
_TYPES = {1: "u1", 2: "u1", 3: "<u2", 4: "<u4", 5: "<u4", 7: "u1", 11: "<f4", 12: "<f8", 16: "<u8"}
KNOWN_TYPES = frozenset(_TYPES)
TEXT, SHORT, LONG, RATIONAL, UNDEFINED, LONG8 = 2, 3, 4, 5, 7, 16

Tags = dict[int, tuple[int, bytes | Sequence[int] | Sequence[float]]]
"""Tags by their numbers: the type of the values of each, and these; a text or bytes as they are."""


def header(first: int, *, is_big: bool) -> bytes:
    """Return the header of a file whose first list of tags lies at an offset."""
    big = struct.pack("<2sHHHQ", b"II", 43, 8, 0, first)
    return big if is_big else struct.pack("<2sHI", b"II", 42, first)


def list_of_tags(tags: Tags, at: int, *, is_big: bool) -> tuple[bytes, int]:
    """Return the bytes of a list that is written at an offset, its values before it, and where it begins."""
    inline, entry, offset = (8, "<HHQ", "<Q") if is_big else (4, "<HHI", "<I")
    # Values and lists begin at even offsets.
    values, entries = bytearray(at % 2), bytearray()
    for code, (kind, held) in sorted(tags.items()):
        data = held if isinstance(held, bytes) else np.asarray(held, _TYPES[kind]).tobytes()
        data += b"\0" * (kind == TEXT and not data.endswith(b"\0"))
        value_bytes = np.dtype(_TYPES[kind]).itemsize * (2 if kind == RATIONAL else 1)
        entries += struct.pack(entry, code, kind, len(data) // value_bytes)
        if len(data) <= inline:
            entries += data.ljust(inline, b"\0")
        else:
            entries += struct.pack(offset, at + len(values))
            values += data + b"\0" * (-len(data) % 8)
    count = struct.pack("<Q" if is_big else "<H", len(tags))
    return b"".join((values, count, entries, struct.pack(offset, 0))), at + len(values)
