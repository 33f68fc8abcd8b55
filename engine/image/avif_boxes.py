"""Boxes of an AVIF (ISO/IEC 14496-12 and 23008-12): colour profile and EXIF data for a file that has none.

libavif writes both, but imagecodecs, which alone has its 12 bits for Python, hands neither to it.
"""

import struct
from collections.abc import Iterator

_HEAD = 8
# Version and flags of a "full" box.
_FULL = bytes(4)
# Bytes of an EXIF item that say how many lie before the data.
_SKIPPED = 4


def with_profile_and_exif(data: bytes, profile: bytes, exif: bytes) -> bytes:
    """Return an AVIF as libavif writes one, with a colour profile and EXIF data; either may be empty.

    Parameters
    ----------
    data : bytes
        A file of one picture, with an alpha or none.
    profile, exif : bytes
        EXIF data without a marker.
    """
    top = list(_boxes(data))
    at = next(number for number, (kind, _) in enumerate(top) if kind == b"meta")
    boxes = dict(_boxes(top[at][1][len(_FULL) :]))
    (item,) = struct.unpack_from(">H", boxes[b"pitm"], len(_FULL))
    items = _items(boxes[b"iloc"])
    new = max(items) + 1
    if profile:
        _add_profile(boxes, item, profile)
    if exif:
        _add_item(boxes, new, item)
        items[new] = 0, _SKIPPED + len(exif)
    # The boxes before the pixels grow, so everything that is pointed at moves; EXIF data comes last.
    boxes[b"iloc"] = _locations(items)
    moved = len(_meta(boxes)) - _HEAD - len(top[at][1])
    items = {name: (begin + moved, size) for name, (begin, size) in items.items()}
    if exif:
        items[new] = len(data) + moved + _HEAD, items[new][1]
    boxes[b"iloc"] = _locations(items)
    parts = [_meta(boxes) if number == at else _box(*one) for number, one in enumerate(top)]
    return b"".join((*parts, _box(b"mdat", bytes(_SKIPPED) + exif) if exif else b""))


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and content of each box."""
    at = 0
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        # The last one may go to the end.
        size = size or len(data) - at
        yield kind, data[at + _HEAD : at + size]
        at += size


def _box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", _HEAD + len(content), kind) + content


def _meta(boxes: dict[bytes, bytes]) -> bytes:
    return _box(b"meta", _FULL + b"".join(_box(*one) for one in boxes.items()))


def _items(content: bytes) -> dict[int, tuple[int, int]]:
    """Return where each item begins and its bytes: of libavif's form, one piece each, offsets of 32 bits."""
    (count,) = struct.unpack_from(">H", content, 6)
    entries = (struct.unpack_from(">HHHII", content, 8 + 14 * number) for number in range(count))
    return {name: (begin, size) for name, _file, _pieces, begin, size in entries}


def _locations(items: dict[int, tuple[int, int]]) -> bytes:
    entries = (struct.pack(">HHHII", name, 0, 1, *place) for name, place in items.items())
    return _FULL + struct.pack(">HH", 0x4400, len(items)) + b"".join(entries)


def _add_item(boxes: dict[bytes, bytes], new: int, item: int) -> None:
    """Add an item with EXIF data, which describes another one."""
    known = boxes[b"iinf"]
    (count,) = struct.unpack_from(">H", known, len(_FULL))
    entry = _box(b"infe", b"\2\0\0\0" + struct.pack(">HH", new, 0) + b"Exif\0")
    boxes[b"iinf"] = _FULL + struct.pack(">H", count + 1) + known[len(_FULL) + 2 :] + entry
    describes = _box(b"cdsc", struct.pack(">HHH", new, 1, item))
    boxes[b"iref"] = boxes.get(b"iref", _FULL) + describes


def _add_profile(boxes: dict[bytes, bytes], item: int, profile: bytes) -> None:
    """Add a colour profile to the properties, and name it among those of an item."""
    properties = dict(_boxes(boxes[b"iprp"]))
    number = 1 + sum(1 for _ in _boxes(properties[b"ipco"]))
    properties[b"ipco"] += _box(b"colr", b"prof" + profile)
    of_items, parts, at = properties[b"ipma"], [], 8
    for _ in range(struct.unpack_from(">I", of_items, len(_FULL))[0]):
        name, count = struct.unpack_from(">HB", of_items, at)
        own = of_items[at + 3 : at + 3 + count]
        at += 3 + count
        own += bytes((number,)) if name == item else b""
        parts.append(struct.pack(">HB", name, len(own)) + own)
    properties[b"ipma"] = of_items[:8] + b"".join(parts)
    boxes[b"iprp"] = b"".join(_box(*one) for one in properties.items())
