"""The header of a usual JPEG, read without Pillow, whose import takes as long as decoding a photograph.

What is unusual (several frames, CMYK, damaged or doubled metadata) is left to Pillow: None is returned.
"""

import mmap
import struct
from typing import NamedTuple

from engine.image.jpeg import FRAMES, markers

_SCAN, _APP0, _APP1, _APP2 = 0xDA, 0xE0, 0xE1, 0xE2
# Tables, the restart interval, application data, comments.
_OTHERS = {0xC4, 0xCC, 0xDB, 0xDD, *range(0xE0, 0xF0), 0xFE}
_EXIF, _XMP, _ICC, _FURTHER = b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0", b"ICC_PROFILE\0", b"MPF\0"
# Bytes of each type of TIFF 6.0, section 2, and of a pointer.
_TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_SHORT, _RATIONAL = 3, 5
_ORIENTATION, _X_RESOLUTION, _Y_RESOLUTION, _RESOLUTION_UNIT = 274, 282, 283, 296
_WANTED_TYPES = {
    _ORIENTATION: _SHORT,
    _X_RESOLUTION: _RATIONAL,
    _Y_RESOLUTION: _RATIONAL,
    _RESOLUTION_UNIT: _SHORT,
}
_CM_PER_INCH = 2.54


class Header(NamedTuple):
    """What the segments before the pixels say; `orientation` is 0, and `dpi` None, where they say nothing."""

    width: int
    height: int
    channels: int
    icc_profile: bytes | None = None
    exif: bytes | None = None
    xmp: bytes | None = None
    orientation: int = 0
    dpi: tuple[float, float] | None = None


def plain_header(data: mmap.mmap | bytes) -> Header | None:
    """Return the header of a JPEG of grey or RGB; None for one that is unusual in any way."""
    found = None
    icc: list[bytes] = []
    exif: bytes | None = None
    xmp: bytes | None = None
    dpi = None
    for marker, position in markers(data):
        size = int.from_bytes(data[position + 2 : position + 4], "big")
        content = data[position + 4 : position + 2 + size]
        if size < 2 or len(content) < size - 2:
            return None
        if marker == _SCAN:
            break
        if marker in FRAMES:
            if found is not None or len(content) < 6 or content[5] not in (1, 3):
                return None
            height, width = struct.unpack(">HH", content[1:5])
            if not height or not width:
                return None
            found = Header(width, height, content[5])
        elif marker == _APP0 and content.startswith(b"JFIF"):
            if len(content) < 12 or found is not None:
                return None
            across, down = struct.unpack(">HH", content[8:12])
            in_inches = {1: 1.0, 2: _CM_PER_INCH}.get(content[7])
            dpi = dpi if in_inches is None else (across * in_inches, down * in_inches)
        elif marker == _APP1 and content.startswith(_EXIF):
            if exif is not None:
                return None
            exif = content
        elif marker == _APP1 and content.startswith(_XMP):
            xmp = content[len(_XMP) :]
        elif marker == _APP2 and content.startswith(_ICC):
            if len(content) < 14 or found is not None:
                return None
            icc.append(content)
        elif marker not in _OTHERS or (marker == _APP2 and content.startswith(_FURTHER)):
            return None
    else:
        return None
    if found is None:
        return None
    icc.sort()
    if icc and icc[0][13] != len(icc):
        return None
    orientation = 0
    if exif is not None:
        numbers = _numbers_of_exif(exif[len(_EXIF) :])
        if numbers is None:
            return None
        orientation, exif_dpi = numbers
        dpi = exif_dpi if dpi is None else dpi
    profile = b"".join(part[14:] for part in icc) or None
    return found._replace(icc_profile=profile, exif=exif, xmp=xmp, orientation=orientation, dpi=dpi)


def _numbers_of_exif(block: bytes) -> tuple[int, tuple[float, float] | None] | None:
    """Return the orientation and pixels per inch in EXIF data; None where anything in it is unusual."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if order is None:
        return None
    found: dict[int, bytes] = {}
    try:
        (begin,) = struct.unpack_from(f"{order}I", block, 4)
        (count,) = struct.unpack_from(f"{order}H", block, begin)
        for number in range(count):
            at = begin + 2 + 12 * number
            tag, kind, values = struct.unpack_from(f"{order}HHI", block, at)
            # With one entry that is damaged, Pillow does not read those after it.
            taken = _TYPE_BYTES[kind] * values
            offset = at + 8 if taken <= 4 else struct.unpack_from(f"{order}I", block, at + 8)[0]
            if offset + taken > len(block):
                return None
            if tag in _WANTED_TYPES:
                if tag in found or kind != _WANTED_TYPES[tag] or values != 1:
                    return None
                found[tag] = block[offset : offset + taken]
        orientation = struct.unpack(f"{order}H", found.get(_ORIENTATION, b"\0\0"))[0]
        if _X_RESOLUTION not in found or _RESOLUTION_UNIT not in found:
            return orientation, None
        across, divisor = struct.unpack(f"{order}II", found[_X_RESOLUTION])
        down, down_divisor = struct.unpack(f"{order}II", found.get(_Y_RESOLUTION, found[_X_RESOLUTION]))
        in_inches = _CM_PER_INCH if struct.unpack(f"{order}H", found[_RESOLUTION_UNIT])[0] == 3 else 1.0
        return orientation, (across / divisor * in_inches, down / down_divisor * in_inches)
    except (struct.error, KeyError, ZeroDivisionError):
        return None
