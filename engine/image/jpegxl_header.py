"""The header of a JPEG XL, and the boxes of its file (ISO/IEC 18181-1, annex D, and 18181-2)."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from engine.image.faults import Refused

_CODESTREAM, _BOX_HEAD = b"\xff\x0a", 8
_HEADER_BYTES = 100
_MOST_BOXES = 2**16


class JpegXLHeader(NamedTuple):
    """What the header says of the picture as it is stored.

    `has_more`: it may be turned, have a preview, or be an animation (`is_animation`). `has_profile`: its
    colours are those of a profile, which lies packed among the pixels.
    """

    width: int
    height: int
    extra_channels: int = 0
    bits: int = 8
    is_float: bool = False
    has_more: bool = False
    has_profile: bool = False
    is_animation: bool = False


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


_ENUM = (0, 0), (1, 0), (2, 4), (18, 6)
# Kinds of extra channels: an alpha, a spot colour, the red, green and blue filter of a camera.
_ALPHA, _SPOT, _FILTER = 0, 2, 5
_SIDES = (1, 9), (1, 13), (1, 18), (1, 30)
_PREVIEW_SIDES = (1, 6), (65, 8), (321, 10), (1345, 12)
_EIGHTHS = (16, 0), (32, 0), (1, 5), (33, 9)
_RATIOS = {1: (1, 1), 2: (12, 10), 3: (4, 3), 4: (3, 2), 5: (16, 9), 6: (5, 4), 7: (2, 1)}


def read_jpegxl_header(data: bytes) -> JpegXLHeader:
    """Return the header of a JPEG XL, bare or in boxes; struct.error, or Refused, where it is damaged."""
    bits = _Bits(_codestream(data)[len(_CODESTREAM) :])
    width, height = _size(bits)
    if bits.take(1):  # all as usual
        return JpegXLHeader(width, height)
    has_more = is_animation = False
    if bits.take(1):  # further fields
        has_more = bits.take(3) != 0  # turned
        if bits.take(1):
            _size(bits)  # on paper
            has_more = True
        if bits.take(1):
            _preview_size(bits)
            has_more = True
        if bits.take(1):
            _animation(bits)
            has_more = is_animation = True
    is_float = bool(bits.take(1))
    depth = bits.choose(*(((32, 0), (16, 0), (24, 0)) if is_float else ((8, 0), (10, 0), (12, 0))), (1, 6))
    bits.take(4 if is_float else 0)
    bits.take(1)
    extra = bits.choose((0, 0), (1, 0), (2, 4), (1, 12))
    for _ in range(extra):
        _extra_channel(bits)
    bits.take(1)  # whether the pixels are stored in colours of libjxl's own
    has_profile = not bits.take(1) and bool(bits.take(1))
    return JpegXLHeader(width, height, extra, depth, is_float, has_more, has_profile, is_animation)


def exif_box(data: bytes) -> bytes:
    """Return the EXIF data of a file of boxes; empty: none."""
    content = next((data[begin:end] for kind, begin, end in _boxes(data) if kind == b"Exif"), b"")
    skipped = int.from_bytes(content[:4], "big")
    return content[4 + skipped :]


def has_xmp(data: bytes) -> bool:
    """Return whether a file of boxes has XMP, compressed or not."""
    return any(
        kind == b"xml " or (kind == b"brob" and data[begin : begin + 4] == b"xml ")
        for kind, begin, _ in _boxes(data)
    )


def _extra_channel(bits: _Bits) -> None:
    if bits.take(1):  # an alpha of 8 bits
        return
    kind = bits.choose(*_ENUM)
    is_float = bool(bits.take(1))
    bits.choose((8, 0), (10, 0), (12, 0), (1, 6))
    bits.take(4 if is_float else 0)
    bits.choose((0, 0), (3, 0), (4, 0), (1, 3))  # how much smaller it is
    for _ in range(bits.choose((0, 0), (0, 4), (16, 5), (48, 10))):
        bits.take(8)  # of its name
    if kind == _ALPHA:
        bits.take(1)
    elif kind == _SPOT:
        bits.take(4 * 16)
    elif kind == _FILTER:
        bits.choose((1, 0), (0, 2), (3, 4), (19, 8))


def _size(bits: _Bits) -> tuple[int, int]:
    is_small = bits.take(1)

    def side() -> int:
        return 8 * (1 + bits.take(5)) if is_small else bits.choose(*_SIDES)

    height = side()
    return _ratio(bits, height) or (side(), height)


def _preview_size(bits: _Bits) -> None:
    sides, scale = (_EIGHTHS, 8) if bits.take(1) else (_PREVIEW_SIDES, 1)
    height = scale * bits.choose(*sides)
    if not _ratio(bits, height):
        bits.choose(*sides)


def _ratio(bits: _Bits, height: int) -> tuple[int, int] | None:
    ratio = bits.take(3)
    if not ratio:
        return None
    across, down = _RATIOS[ratio]
    return height * across // down, height


def _animation(bits: _Bits) -> None:
    bits.choose((100, 0), (1000, 0), (1, 10), (1, 30))
    bits.choose((1, 0), (1001, 0), (1, 8), (1, 10))
    bits.choose((0, 0), (0, 3), (0, 16), (0, 32))
    bits.take(1)


def _codestream(data: bytes) -> bytes:
    """Return the beginning of the pixels in a JPEG XL file, bare or in boxes."""
    if data.startswith(_CODESTREAM):
        return data[:_HEADER_BYTES]
    for kind, begin, _ in _boxes(data):
        if kind in (b"jxlc", b"jxlp"):
            begin += 4 if kind == b"jxlp" else 0
            if data.startswith(_CODESTREAM, begin):
                return data[begin : begin + _HEADER_BYTES]
            break
    raise Refused("it is no JPEG XL picture, or its first part is missing")


def _boxes(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the kind of each box of a file, and where its content begins and ends."""
    offset = count = 0
    while offset + _BOX_HEAD <= len(data):
        count += 1
        if count > _MOST_BOXES:
            raise Refused(f"it has more than {_MOST_BOXES:,} boxes")
        size, kind = struct.unpack_from(">I4s", data, offset)
        head = _BOX_HEAD
        if size == 1:
            (size,), head = struct.unpack_from(">Q", data, offset + head), 16
        elif size == 0:  # to the end
            size = len(data) - offset
        if size < head:
            return
        yield kind, offset + head, offset + size
        offset += size
