"""The header of a usual JPEG, read without Pillow, whose import takes as long as decoding a photograph.

What is unusual (several frames, CMYK, damaged or doubled metadata) is left to Pillow, which `cleaned` gives
only what counts: it would add up the EXIF data of any number of segments, and lose a colour profile that
stands after the frame header.
"""

import mmap
import struct
from itertools import chain
from typing import NamedTuple

from engine.image.formats.jpeg_markers import END_OF_IMAGE, FRAMES, markers
from engine.image.metadata import MOST_EXIF_BYTES

_SCAN, _APP0, _APP1, _APP2, _APP14 = 0xDA, 0xE0, 0xE1, 0xE2, 0xEE
# Tables, the restart interval, application data, comments.
_OTHERS = {0xC4, 0xCC, 0xDB, 0xDD, *range(0xE0, 0xF0), 0xFE}
_JFIF, _EXIF, _XMP, _ICC, _FURTHER = (
    b"JFIF",
    b"Exif\0\0",
    b"http://ns.adobe.com/xap/1.0/\0",
    b"ICC_PROFILE\0",
    b"MPF\0",
)
# After marker and size, the name, the number of the segment, and how many there are.
_ICC_BEGIN = 4 + len(_ICC) + 2
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
# What decides on the pixels: tables, frames, the restart interval, the number of lines, Adobe's colours.
_DECODED = {0xC4, 0xCC, 0xDB, 0xDC, 0xDD, _APP14, *FRAMES}
_BAD_PROFILE = "Its colour profile is damaged and was left out."
_STRAY_BYTES = "Bytes between its parts that belong to none of them were passed over."


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
    end = 2
    for marker, position in markers(data):
        # What stands between two segments is unusual, but for bytes that fill up.
        if position != end and data[end:position].strip(b"\xff"):
            return None
        size = int.from_bytes(data[position + 2 : position + 4], "big")
        content = data[position + 4 : position + 2 + size]
        if size < 2 or len(content) < size - 2:
            return None
        end = position + 2 + size
        if marker == _SCAN:
            break
        if marker in FRAMES:
            if found is not None or len(content) < 6 or content[5] not in (1, 3):
                return None
            height, width = struct.unpack(">HH", content[1:5])
            if not height or not width:
                return None
            found = Header(width, height, content[5])
        elif marker == _APP0 and content.startswith(_JFIF):
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
            icc.append(data[position:end])
        elif marker not in _OTHERS or (marker == _APP2 and content.startswith(_FURTHER)):
            return None
    else:
        return None
    if found is None:
        return None
    whole_profile = _whole_profile(icc)
    if icc and not whole_profile:
        return None
    orientation = 0
    if exif is not None:
        numbers = _numbers_of_exif(exif[len(_EXIF) :])
        if numbers is None:
            return None
        orientation, exif_dpi = numbers
        dpi = exif_dpi if dpi is None else dpi
    profile = b"".join(part[_ICC_BEGIN:] for part in whole_profile) or None
    return found._replace(icc_profile=profile, exif=exif, xmp=xmp, orientation=orientation, dpi=dpi)


def cleaned(data: mmap.mmap | bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the first picture of a JPEG with what is read of it alone, and a note on what was damaged.

    The metadata come first, and whole: no stray bytes, one colour profile, EXIF data of some length.
    """
    before: dict[bytes, list[bytes]] = {kind: [] for kind in (_JFIF, _EXIF, _XMP, _ICC, _FURTHER)}
    coded: list[bytes] = []
    # Where a scan begins whose compressed data reaches to the next marker.
    scan = None
    exif_bytes, has_stray, next_one, end = 0, False, 2, len(data)
    for marker, position in markers(data):
        if scan is not None:
            coded.append(data[scan:position])
            scan = None
        elif data[next_one:position].strip(b"\xff"):
            has_stray = True
        if marker == END_OF_IMAGE:
            end = position
            break
        size = int.from_bytes(data[position + 2 : position + 4], "big")
        next_one = position + 2 + size
        segment = data[position:next_one]
        if marker == _SCAN:
            scan = position
        elif marker in (_APP0, _APP1, _APP2):
            kind = next((kind for kind in before if segment.startswith(kind, 4)), None)
            exif_bytes += len(segment) if kind == _EXIF else 0
            if kind == _ICC or (kind == _EXIF and exif_bytes <= MOST_EXIF_BYTES):
                before[kind].append(segment)
            elif kind in (_JFIF, _XMP, _FURTHER):
                before[kind] = before[kind] or [segment]
        elif marker in _DECODED:
            coded.append(segment)
    if scan is not None:
        coded.append(data[scan:end])
    has_profile, before[_ICC] = bool(before[_ICC]), _whole_profile(before[_ICC])
    is_lost = has_profile and not before[_ICC]
    notes = (*((_BAD_PROFILE,) if is_lost else ()), *((_STRAY_BYTES,) if has_stray else ()))
    return b"".join((b"\xff\xd8", *chain(*before.values()), *coded, b"\xff\xd9")), notes


def _whole_profile(segments: list[bytes]) -> list[bytes]:
    """Return the segments of a colour profile in order; none where one is missing or there is another."""
    found = {segment[_ICC_BEGIN - 2]: segment for segment in segments if len(segment) > _ICC_BEGIN}
    counts = {segment[_ICC_BEGIN - 1] for segment in found.values()}
    if len(found) < len(segments) or counts != {len(found)} or set(found) != {*range(1, len(found) + 1)}:
        return []
    return [found[number] for number in sorted(found)]


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
