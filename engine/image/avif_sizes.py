"""How large the coded pictures in an AVIF are, beside what its boxes say.

libavif decodes a picture in its coded size and then scales it, without a word, to what the boxes say. The
boxes are those of ISO/IEC 14496-12 and 23008-12; the coded size is in a header of AV1 (5.5.1).
"""

import struct
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from engine.image.faults import Refused

_FULL = 4  # version and flags
_SEQUENCE_HEADER = 1
# A size is within the first bytes.
_READ_BYTES = 256
# A tile has one of its own, and its alpha.
_MOST_PICTURES = 10_000
_MOST_BOXES = 2**16


class CodedSize(NamedTuple):
    """Width and height of a coded picture, and what the boxes say of it."""

    width: int
    height: int
    said: tuple[int, int]


def coded_sizes(data: bytes) -> list[CodedSize]:
    """Return the size of each coded picture, and of the first one of each track; those that can be read."""
    found: list[CodedSize] = []
    try:
        top = _first_boxes(data)
        for begin, said in chain(_items(top.get(b"meta", b"")[_FULL:]), _tracks(top.get(b"moov", b""))):
            size = _coded_size(data[begin : begin + _READ_BYTES])
            if size is not None and len(found) < _MOST_PICTURES:
                found.append(CodedSize(*size, said))
    except (struct.error, LookupError):
        pass  # what is damaged is for libavif to say
    return found


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and content of each box."""
    at = count = 0
    while at + 8 <= len(data):
        count += 1
        if count > _MOST_BOXES:
            raise Refused(f"it has more than {_MOST_BOXES:,} boxes")
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1:
            (size,), head = struct.unpack_from(">Q", data, at + head), 16
        size = size or len(data) - at
        if size < head:
            return
        # Pixels are looked up by their place.
        yield kind, b"" if kind == b"mdat" else data[at + head : at + size]
        at += size


def _first_boxes(data: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for kind, content in _boxes(data):
        found.setdefault(kind, content)
    return found


def _items(meta: bytes) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield where each item of a size begins, and the size."""
    boxes = _first_boxes(meta)
    if b"iloc" not in boxes:
        return
    properties = _first_boxes(boxes[b"iprp"])
    sizes = [
        struct.unpack_from(">II", content, _FULL) if kind == b"ispe" else None
        for kind, content in _boxes(properties[b"ipco"])
    ]
    of_items = _property_numbers(properties[b"ipma"])
    for item, begin in _places(boxes[b"iloc"]):
        known = [sizes[number - 1] for number in of_items.get(item, ()) if 0 < number <= len(sizes)]
        size = next(filter(None, known), None)
        if size is not None:
            yield begin, (size[0], size[1])


def _property_numbers(content: bytes) -> dict[int, list[int]]:
    """Return the numbers of the properties of each item (ipma)."""
    item_code, is_long, at = ">I" if content[0] else ">H", content[3] & 1, 8
    found = {}
    for _ in range(struct.unpack_from(">I", content, _FULL)[0]):
        (item,) = struct.unpack_from(item_code, content, at)
        at += struct.calcsize(item_code)
        count, at = content[at], at + 1
        if is_long:
            numbers = [one & 0x7FFF for one in struct.unpack_from(f">{count}H", content, at)]
        else:
            numbers = [one & 0x7F for one in content[at : at + count]]
        found[item] = numbers
        at += count << is_long
    return found


def _places(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the number of each item that lies in the file itself, and where it begins (iloc)."""
    version = content[0]
    offset_bytes, length_bytes = content[_FULL] >> 4, content[_FULL] & 15
    base_bytes, index_bytes = content[_FULL + 1] >> 4, content[_FULL + 1] & 15 if version else 0
    at = _FULL + 2

    def number(size: int) -> int:
        nonlocal at
        at += size
        if at > len(content):
            raise IndexError
        return int.from_bytes(content[at - size : at], "big")

    name_bytes = 4 if version == 2 else 2
    for _ in range(number(name_bytes)):
        item = number(name_bytes)
        method = number(2) & 15 if version else 0
        number(2)
        base, begins = number(base_bytes), []
        for _ in range(number(2)):
            number(index_bytes)
            begins.append(base + number(offset_bytes))
            number(length_bytes)
        if begins and method == 0:
            yield item, begins[0]


def _tracks(moov: bytes) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield where the first picture of each track begins, and the size of the track."""
    for kind, track in _boxes(moov):
        if kind == b"trak":
            boxes = _first_boxes(track)
            table = boxes[b"mdia"]
            for inner in (b"minf", b"stbl"):
                table = _first_boxes(table)[inner]
            chunks = _first_boxes(table)
            code, places = (">I", chunks[b"stco"]) if b"stco" in chunks else (">Q", chunks[b"co64"])
            # Sides are numbers of 16 and 16 bits.
            width, height = struct.unpack_from(">HxxHxx", boxes[b"tkhd"], len(boxes[b"tkhd"]) - 8)
            yield struct.unpack_from(code, places, _FULL + 4)[0], (width, height)


def _coded_size(data: bytes) -> tuple[int, int] | None:
    """Return the size in the sequence header of AV1 data; None where there is none."""
    at = 0
    while at + 2 <= len(data):
        kind, has_extension, has_size = data[at] >> 3 & 15, data[at] >> 2 & 1, data[at] >> 1 & 1
        at += 1 + has_extension
        size, shift = (0, 0) if has_size else (len(data) - at, 0)
        while has_size:
            size |= (data[at] & 0x7F) << shift
            shift, at, has_size = shift + 7, at + 1, data[at] >> 7
        if kind == _SEQUENCE_HEADER:
            return _size_of_header(data[at : at + size])
        at += size
    return None


def _size_of_header(header: bytes) -> tuple[int, int]:
    bits, left = int.from_bytes(header, "big"), 8 * len(header)

    def take(count: int) -> int:
        nonlocal left
        left -= count
        if left < 0:
            raise IndexError
        return bits >> left & ((1 << count) - 1)

    take(4)  # profile, and whether it is one picture
    if take(1):  # a short header
        take(5)
    else:
        delay_bits = 0
        if take(1):  # times
            take(64)
            if take(1):
                zeros = 0
                while not take(1):
                    zeros += 1
                take(zeros)
            if take(1):  # of a decoder
                delay_bits = take(5) + 1
                take(42)
        has_delays = take(1)
        for _ in range(take(5) + 1):
            take(12)
            if take(5) > 7:
                take(1)
            if delay_bits and take(1):
                take(2 * delay_bits + 1)
            if has_delays and take(1):
                take(4)
    across, down = take(4) + 1, take(4) + 1
    return take(across) + 1, take(down) + 1
