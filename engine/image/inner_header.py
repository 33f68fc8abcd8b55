"""Strips and tiles of a TIFF that are pictures of their own: what their headers say, before any is decoded.

A decoder takes memory for the size that is in the inner picture, whatever the tags of the TIFF say.
"""

import io
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from engine.image.faults import Refused
from engine.image.jpeg import frame_of
from engine.image.png_chunks import critical_size
from engine.image.webp import still_size

if TYPE_CHECKING:
    from tifffile import TiffPage


class InnerSize(NamedTuple):
    """The size of an inner picture in pixels, and its values per pixel, 0 where they do not matter."""

    width: int
    height: int
    samples: int = 0


def _jpeg(data: bytes) -> InnerSize:
    frame = frame_of(data)
    if frame.end is None:
        raise Refused("a JPEG in it ends before its last row: it was cut short")
    frame.check_scans()
    return InnerSize(frame.width, frame.height)


def _png(data: bytes) -> InnerSize:
    return InnerSize(*critical_size(io.BytesIO(data), len(data)))


def _webp(data: bytes) -> InnerSize:
    return InnerSize(*still_size(io.BytesIO(data)))


_LERC1, _LERC2 = b"CntZImage ", b"Lerc2 "


def _lerc(data: bytes) -> InnerSize:
    if data.startswith(_LERC1):
        height, width = struct.unpack_from("<ii", data, len(_LERC1) + 8)
        return InnerSize(width, height, 1)
    if not data.startswith(_LERC2):
        raise Refused("a strip or tile of it is no LERC picture")
    (version,) = struct.unpack_from("<i", data, len(_LERC2))
    # Checksum, rows, columns, values per pixel, valid pixels, size of a small block, bytes.
    offset = len(_LERC2) + (8 if version >= 3 else 4)
    height, width = struct.unpack_from("<ii", data, offset)
    samples = 1
    if version >= 4:
        (samples,) = struct.unpack_from("<i", data, offset + 8)
        offset += 4
    (size,) = struct.unpack_from("<i", data, offset + 16)
    # Each further band is decoded to a picture of that size.
    if data[size:].startswith(_LERC2):
        raise Refused("a strip or tile of it holds several pictures")
    return InnerSize(width, height, samples)


def _jpeg2000(data: bytes) -> InnerSize:
    offset = 0
    while data[offset : offset + 4] != b"\xff\x4f\xff\x51":
        # Boxes: size, kind, and where the size is 1 the size in 8 bytes.
        size, kind = struct.unpack_from(">I4s", data, offset)
        head = 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, offset + 8)
            head = 16
        if kind != b"jp2c" and size < head:
            raise Refused("a strip or tile of it is no JPEG 2000 picture")
        offset += head if kind == b"jp2c" else size
    right, bottom, left, top = struct.unpack_from(">4I", data, offset + 8)
    (samples,) = struct.unpack_from(">H", data, offset + 40)
    return InnerSize(right - left, bottom - top, samples)


# Signature of each picture in a JPEG XR container (colours, alpha).
_XR = b"WMPHOTO\0"
# Pixel format, turn, kind; size and resolution; where colours and alpha lie.
_XR_TAGS = frozenset((0xBC01, 0xBC02, 0xBC04, *range(0xBC80, 0xBC84), *range(0xBCC0, 0xBCC6)))


def _jpegxr(data: bytes) -> InnerSize:
    sizes = set()
    offset = data.find(_XR)
    while offset >= 0:
        # ITU-T T.832, 8.3: the flag says whether width and height take two bytes each, or four.
        is_short = struct.unpack_from("B", data, offset + 10)[0] & 0x80
        width, height = struct.unpack_from(">HH" if is_short else ">II", data, offset + 12)
        sizes.add((width + 1, height + 1))
        offset = data.find(_XR, offset + 1)
    if len(sizes) != 1:
        raise Refused("a strip or tile of it is no JPEG XR picture")
    _check_xr_tags(data)
    return InnerSize(*sizes.pop())


def _check_xr_tags(data: bytes) -> None:
    """Raise Refused for tags that say nothing of the pixels.

    The decoder prints those that it does not know, and some that describe the picture end the process.
    """
    (begin,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, begin)
    for number in range(count):
        (tag,) = struct.unpack_from("<H", data, begin + 2 + 12 * number)
        if tag not in _XR_TAGS:
            raise Refused(f"a JPEG XR in it has the tag {tag}, which says nothing of its pixels")


class _Bits:
    """Bits of a JPEG XL header, the lowest of each byte first."""

    def __init__(self, data: bytes) -> None:
        self._bits = int.from_bytes(data[:64], "little")

    def take(self, count: int) -> int:
        value = self._bits & ((1 << count) - 1)
        self._bits >>= count
        return value

    def choose(self, *choices: tuple[int, int]) -> int:
        """Read which of four (offset, bits) a number has, and the number."""
        offset, count = choices[self.take(2)]
        return offset + self.take(count)


_XL_SIDES = (1, 9), (1, 13), (1, 18), (1, 30)
_XL_RATIOS = {1: (1, 1), 2: (12, 10), 3: (4, 3), 4: (3, 2), 5: (16, 9), 6: (5, 4), 7: (2, 1)}


def _jpegxl(data: bytes) -> InnerSize:
    bits = _Bits(_xl_codestream(data)[2:])
    width, height = _xl_size(bits)
    extra = 0
    if not bits.take(1):  # not all as usual
        # Further fields: turned, another size on paper, a preview, an animation.
        if bits.take(1) and bits.take(6):
            raise Refused("a JPEG XL in it is turned, has a preview or is an animation")
        is_float = bits.take(1)
        bits.choose(*(((32, 0), (16, 0), (24, 0)) if is_float else ((8, 0), (10, 0), (12, 0))), (1, 6))
        bits.take(4 if is_float else 0)
        bits.take(1)
        extra = bits.choose((0, 0), (1, 0), (2, 4), (1, 12))
    return InnerSize(width, height, extra)


def _xl_size(bits: _Bits) -> tuple[int, int]:
    is_small = bits.take(1)

    def side() -> int:
        return 8 * (1 + bits.take(5)) if is_small else bits.choose(*_XL_SIDES)

    height = side()
    ratio = bits.take(3)
    if ratio:
        across, down = _XL_RATIOS[ratio]
        return height * across // down, height
    return side(), height


def _xl_codestream(data: bytes) -> bytes:
    """Return the beginning of the pixels in a JPEG XL file, bare or in boxes."""
    offset = 0
    while not data.startswith(b"\xff\x0a", offset):
        size, kind = struct.unpack_from(">I4s", data, offset)
        if kind in (b"jxlc", b"jxlp"):
            offset += 8 if kind == b"jxlc" else 12
        elif size < 8:
            raise Refused("a strip or tile of it is no JPEG XL picture")
        else:
            offset += size
    return data[offset : offset + 100]


_READERS: dict[int, Callable[[bytes], InnerSize]] = {
    **dict.fromkeys((6, 7, 33007, 34892), _jpeg),
    **dict.fromkeys((33003, 33004, 33005, 34712), _jpeg2000),
    **dict.fromkeys((22610, 34934), _jpegxr),
    **dict.fromkeys((34927, 50001), _webp),
    **dict.fromkeys((50002, 52546), _jpegxl),
    34887: _lerc,
    34933: _png,
}


def is_inner_picture(compression: int) -> bool:
    """Return whether strips and tiles of a compression of TIFF are pictures of their own."""
    return compression in _READERS


def check_inner_pictures(page: "TiffPage", file: BinaryIO) -> None:
    """Raise Refused where a strip or tile is a picture of another size than the tags say."""
    for number, (offset, size) in enumerate(zip(page.dataoffsets, page.databytecounts, strict=False)):
        if size:
            file.seek(offset)
            check_inner_picture(page, number, file.read(size))


def check_inner_picture(page: "TiffPage", number: int, data: bytes) -> None:
    """Raise Refused where one strip or tile is a picture of another size than the tags say."""
    planes, _, height, width, samples = page.shaped
    rows, columns = (
        (page.tilelength, page.tilewidth) if page.is_tiled else (min(page.rowsperstrip, height), width)
    )
    down, across = -(-height // rows), -(-width // columns)
    if page.jpegheader:  # NDPI: tiles share a header, and have no end marker
        data = page.jpegheader + data + b"\xff\xd9"
    try:
        found = _READERS[int(page.compression)](data)
    except (struct.error, IndexError) as error:
        raise Refused("the header of a strip or tile of it is damaged or cut short") from error
    row, column = divmod(number % (down * across), across)
    # The last may be whole, or end where the picture does.
    heights = {rows, min(rows, height - row * rows)}
    widths = {columns, min(columns, width - column * columns)}
    if found.height not in heights or found.width not in widths:
        raise Refused(
            f"a strip or tile of it holds {found.width:,} × {found.height:,} pixels, its tags say "
            f"{columns:,} × {rows:,}"
        )
    if found.samples > max(samples, planes):
        raise Refused(f"a strip or tile of it has {found.samples:,} values per pixel, its tags say {samples}")
