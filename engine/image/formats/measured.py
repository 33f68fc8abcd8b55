"""The shape and the type of what imagecodecs decodes, before it takes memory for them.

Its decoders read the header, and say of an array into which the picture does not fit which one would: so they
are asked with an empty one first, and decode nothing then. (Not OpenJPEG, which decodes all the same.)
"""

import re
from collections.abc import Callable

import numpy as np

from engine.image.faults import Unsupported

_SHAPE = re.compile(r", shape=\(([\d, ]+)\)")
_TYPE = re.compile(r", dtype=.*?((?:u?int|float)\d+|[uif][1248])\b")


def measured(decode: Callable[..., object], data: bytes) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape (H, W, C) of a picture, frames first where there are several, and its type."""
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
