"""The boxes that AVIF and JPEG XL files are made of (ISO/IEC 14496-12)."""

import struct
from collections.abc import Iterator

from engine.image.faults import Refused

_MOST_BOXES = 2**16
_HEADER_BYTES = 128


def boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and content of each box, until one is damaged; Refused for more than a picture has."""
    at = count = 0
    while at + 8 <= len(data):
        count += 1
        if count > _MOST_BOXES:
            raise Refused(f"it has more than {_MOST_BOXES:,} boxes")
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1:
            (size,), head = struct.unpack_from(">Q", data, at + head), 16
        size = size or len(data) - at  # to the end
        if size < head:
            return
        # Of pixels the header is enough; those of an AVIF are looked up by their place.
        end = at + min(size, _HEADER_BYTES) if kind in (b"mdat", b"jxlc", b"jxlp") else at + size
        yield kind, data[at + head : end]
        at += size
