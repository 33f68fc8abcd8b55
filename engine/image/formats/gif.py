"""GIF: its blocks are read here, its pixels by Pillow, which gets the first frame alone.

Pillow takes the memory of a frame that is to be wiped while it opens a file, before anyone can ask how large
that is; it finds other frames than we do where a block is empty; and it adds up all comments.
"""

import io
import mmap
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import numpy as np

from engine.image.faults import Refused
from engine.image.format import Budget, Decoded, Form, Format
from engine.image.formats.pillow import read_with_pillow
from engine.image.metadata import COMMENT, note_of_first

# LZW: a code of 12 bits stands for a string of at most 4,096 pixels.
_MOST_PER_BYTE = 4096 * 8 // 12
_SCREEN_BYTES, _EDGES_BYTES = 13, 9
_HAS_PALETTE, _IS_TRANSPARENT = 0x80, 1
_EXTENSION, _FRAME, _END = b"!,;"
_CONTROL, _COMMENT, _ONLY_TRANSPARENT = b"\xf9", b"\xfe", b"!\xf9\4\1\0\0"
# Programs cut data into pieces of 255 bytes: so many more are for frames of a few pixels.
_MOST_PIECES, _LEAST_BYTES_OF_PIECE = 2**18, 64


def read_gif(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode the first frame of a GIF."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        head = data[:_SCREEN_BYTES]
        if len(head) < _SCREEN_BYTES:
            raise Refused(f"it ends after {len(head)} bytes, within its header")
        width, height, flags = struct.unpack_from("<HHB", head, 6)
        head = data[: _SCREEN_BYTES + _palette_bytes(flags)]
        stored, count, control, has_comment, is_cut = b"", 0, b"", False, False
        for kind, begin, end in _blocks(data, len(head)):
            is_cut |= end > len(data)
            name, size = data[begin + 1 : begin + 2], data[begin + 2 : begin + 3]
            if kind == _FRAME:
                stored, count = stored or data[begin:end], count + 1
            elif name == _COMMENT:
                has_comment = True
            elif name == _CONTROL and size >= b"\4" and not count:
                # How it is wiped matters to the next frame only.
                is_transparent = data[begin + 3] & _IS_TRANSPARENT
                control = _ONLY_TRANSPARENT + data[begin + 6 : begin + 7] + b"\0" if is_transparent else b""
        if not count:
            raise Refused("it holds no frame, or ends before the first: it was cut short")
        if len(stored) <= _EDGES_BYTES:
            raise Refused("it ends before its first frame: it was cut short")
        left, top, columns, rows = struct.unpack_from("<HHHH", stored, 1)
        # As Pillow has it: a frame that reaches beyond the screen makes the picture larger. Pillow decides on
        # the colours; the least is one index per pixel.
        grey = np.dtype(np.uint8)
        form = Form(max(height, top + rows), max(width, left + columns), 1, False, grey)
        budget.check(form, rows * columns + 2 * len(stored))
        of_frame, least_bytes = Form(rows, columns, 1, False, grey), rows * columns // _MOST_PER_BYTE
        of_frame.check_long_enough(len(stored), least_bytes, "its first frame has")
    notes = note_of_first(-1 if count > 1 and is_cut else count, "frame")
    decoded = read_with_pillow("GIF", io.BytesIO(head + control + stored), budget)
    metadata = replace(decoded.metadata, left_out=(COMMENT,)) if has_comment else decoded.metadata
    return decoded._replace(notes=notes, metadata=metadata)


def _palette_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & _HAS_PALETTE else 0


def _blocks(data: mmap.mmap, position: int) -> Iterator[tuple[int, int, int]]:
    """Yield frames and extensions, up to the mark of the end: their first byte, and where they begin and end.

    Where data was cut, one ends behind it. Raises Refused for too many pieces.
    """
    left, last = _MOST_PIECES + len(data) // _LEAST_BYTES_OF_PIECE, len(data)
    while position < last and (kind := data[position]) != _END:
        begin, position = position, position + 1
        left -= 1
        if kind == _FRAME:
            flags = data[begin + _EDGES_BYTES] if begin + _EDGES_BYTES < last else 0
            # The width of the first code follows.
            position += _EDGES_BYTES + _palette_bytes(flags) + 1
        elif kind == _EXTENSION:
            position += 1
        if kind in (_FRAME, _EXTENSION):
            # Pieces that each begin with their size; one of none ends them.
            while position < last and (size := data[position]):
                position += 1 + size
                left -= 1
            position += 1
            yield kind, begin, position
        if left < 0:
            raise Refused("it is cut into more pieces than a picture has")


GIF = Format("GIF", suffixes=(".gif",), signatures=(b"GIF87a", b"GIF89a"), decode=read_gif)
