"""Headers that no library reads by itself: boxes (ISO/IEC 14496-12), as of AVIF and JPEG XL, and shapes."""

import re
import struct
from collections.abc import Callable, Iterator

import numpy as np

from engine.image.faults import Refused, Unsupported

_MOST_BOXES = 2**16
_HEADER_BYTES, _PIXELS = 128, (b"mdat", b"jxlc", b"jxlp", b"jp2c")


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
        end = at + (min(size, _HEADER_BYTES) if kind in _PIXELS else size)
        yield kind, data[at + head : end]
        at += size


def first_boxes(data: bytes) -> dict[bytes, bytes]:
    """Return the content of the first box of each kind."""
    return dict(reversed(list(boxes(data))))


_SHAPE = re.compile(r", shape=\(([\d, ]+)\)")
_TYPE = re.compile(r", dtype=.*?((?:u?int|float)\d+|[uif][1248])\b")


def measured(decode: Callable[..., object], data: bytes) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape (H, W, C) of a picture, frames first where there are several, and its type.

    The decoders of imagecodecs read the header, and say of an array into which the picture does not fit which
    one would: asked with an empty one, they decode nothing. (Not OpenJPEG, which decodes all the same.)
    """
    dtype, tried = np.dtype(np.uint8), set[np.dtype]()
    while dtype not in tried:
        tried.add(dtype)
        try:
            decode(data, out=np.empty(0, dtype))
        except ValueError as error:
            if found := _SHAPE.search(str(error)):
                shape = tuple(map(int, found[1].split(",")))
                return (*shape, 1) if len(shape) == 2 else shape, dtype
            if found := _TYPE.search(str(error)):
                dtype = np.dtype(found[1])
    raise Unsupported("its decoder does not say how large it is")
