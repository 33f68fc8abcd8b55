"""Strips and tiles of a TIFF that are pictures of their own: what their headers say, before any is decoded.

A decoder takes memory for the size that is in the inner picture, whatever the tags of the TIFF say.
"""

import io
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import imagecodecs

from engine.image.faults import Refused
from engine.image.formats.jpeg_markers import frame_of
from engine.image.formats.measured import measured
from engine.image.formats.png_chunks import critical_size

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


def _by_imagecodecs(name: str) -> Callable[[bytes], InnerSize]:
    def read(data: bytes) -> InnerSize:
        (*frames, height, width, samples), _ = measured(getattr(imagecodecs, name), data)
        if frames:
            raise Refused("a strip or tile of it holds several pictures")
        return InnerSize(width, height, samples)

    return read


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


_READERS: dict[int, Callable[[bytes], InnerSize]] = {
    **dict.fromkeys((6, 7, 33007, 34892), _jpeg),
    **dict.fromkeys((33003, 33004, 33005, 34712), _jpeg2000),
    **dict.fromkeys((22610, 34934), _jpegxr),
    **dict.fromkeys((34927, 50001), _by_imagecodecs("webp_decode")),
    **dict.fromkeys((50002, 52546), _by_imagecodecs("jpegxl_decode")),
    34887: _by_imagecodecs("lerc_decode"),
    34933: _png,
}


def is_inner_picture(compression: int) -> bool:
    """Return whether strips and tiles of a compression of TIFF are pictures of their own."""
    return compression in _READERS


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
