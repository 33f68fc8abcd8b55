"""GIF: its blocks are read here, its pixels by Pillow, which gets the first frame alone.

Pillow takes the memory of a frame that is to be wiped while it opens a file, before anyone can ask how large
that is; it finds other frames than we do where a block is empty; and it adds up all comments.
"""

import io
import mmap
import struct
from dataclasses import replace
from typing import BinaryIO, NamedTuple

import numpy as np

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Decoded
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.format import Format
from engine.image.formats.pillow import read_with_pillow
from engine.image.metadata import COMMENT, note_of_first

# LZW: a code of 12 bits stands for a string of at most 4,096 pixels.
_MOST_PER_BYTE = 4096 * 8 // 12
_SCREEN_BYTES, _EDGES_BYTES, _CONTROL_BYTES = 13, 9, 4
_HAS_PALETTE, _IS_TRANSPARENT = 0x80, 1
_EXTENSION, _CONTROL, _COMMENT, _FRAME, _END = b"!"[0], 0xF9, 0xFE, b","[0], b";"[0]
# Programs cut data into pieces of 255 bytes: so many more are for frames of a few pixels.
_MOST_PIECES, _LEAST_BYTES_OF_PIECE = 2**18, 64


class _First(NamedTuple):
    """The first frame: its edges, size, palette and data as they are stored, and what is transparent."""

    left: int
    top: int
    width: int
    height: int
    stored: bytes
    control: bytes


def read_gif(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode the first frame of a GIF."""
    file_bytes = file.seek(0, 2)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        screen = data[:_SCREEN_BYTES]
        if len(screen) < _SCREEN_BYTES:
            raise Refused(f"it ends after {len(screen)} bytes, within its header")
        width, height, flags = struct.unpack_from("<HHB", screen, 6)
        walk = _Walk(data)
        palette = data[_SCREEN_BYTES : walk.after_palette(_SCREEN_BYTES, flags)]
        walk.position = _SCREEN_BYTES + len(palette)
        frame = walk.first_frame()
        # As Pillow has it: a frame that reaches beyond the screen makes the picture larger.
        rows, columns = max(height, frame.top + frame.height), max(width, frame.left + frame.width)
        # Pillow decides on the colours; the least is one index per pixel.
        form = Form(rows, columns, 1, False, np.dtype(np.uint8))
        frame_pixels = frame.width * frame.height
        budget.check(form, frame_pixels + 2 * len(frame.stored))
        least_bytes = frame_pixels // _MOST_PER_BYTE
        of_frame = replace(form, height=frame.height, width=frame.width)
        check_long_enough(of_frame, file_bytes, least_bytes)
        check_long_enough(of_frame, len(frame.stored), least_bytes, "its first frame has")
        notes = note_of_first(walk.count_of_frames(), "frame")
    control = b"!\xf9\x04" + frame.control + b"\0" if frame.control else b""
    alone = io.BytesIO(b"".join((screen, palette, control, frame.stored)))
    decoded = read_with_pillow("GIF", alone, budget, allocate)
    metadata = replace(decoded.metadata, left_out=(COMMENT,)) if walk.has_comment else decoded.metadata
    return decoded._replace(notes=(*decoded.notes, *notes), metadata=metadata)


class _Walk:
    """The blocks of a file, in order."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.position = 0
        self._pieces_left = _MOST_PIECES + len(data) // _LEAST_BYTES_OF_PIECE
        self._is_cut = False
        self.has_comment = False

    def after_palette(self, position: int, flags: int) -> int:
        """Return where a palette at a position ends, if there is one."""
        return position + (3 << (flags & 7) + 1 if flags & _HAS_PALETTE else 0)

    def first_frame(self) -> _First:
        """Go to the end of the first frame; raise Refused where there is none."""
        control = b""
        while (kind := self._next()) is not None:
            begin = self.position
            if kind == _EXTENSION:
                block = self._data[begin + 1 : begin + 2 + _CONTROL_BYTES]
                if self._data[begin : begin + 1] == bytes((_CONTROL,)) and block[:1] >= b"\4":
                    # How it is wiped matters to the next frame only.
                    is_transparent = block[1:2] and block[1] & _IS_TRANSPARENT
                    control = bytes((_IS_TRANSPARENT, 0, 0)) + block[4:] if is_transparent else b""
                self._pass_extension()
            elif kind == _FRAME:
                edges = self._data[begin : begin + _EDGES_BYTES]
                if len(edges) < _EDGES_BYTES:
                    break
                self._pass_frame()
                stored = self._data[begin - 1 : self.position]
                left, top, width, height = struct.unpack_from("<HHHH", edges)
                return _First(left, top, width, height, stored, control)
            elif kind == _END:
                raise Refused("it holds no frame")
        raise Refused("it ends before its first frame: it was cut short")

    def count_of_frames(self) -> int:
        """Return how many frames there are, the first one passed; -1: the others are damaged."""
        count = 1
        while (kind := self._next()) not in (None, _END):
            if kind == _EXTENSION:
                self._pass_extension()
            elif kind == _FRAME:
                count += 1
                self._pass_frame()
        return -1 if count > 1 and self._is_cut else count

    def _next(self) -> int | None:
        """Return the next byte; None at the end. Raise Refused for too many pieces."""
        if self.position >= len(self._data):
            self.position = len(self._data)
            return None
        self._count_piece()
        kind = self._data[self.position]
        self.position += 1
        return kind

    def _count_piece(self) -> None:
        self._pieces_left -= 1
        if self._pieces_left < 0:
            raise Refused("it is cut into more pieces than a picture has")

    def _pass_frame(self) -> None:
        flags = self._data[self.position + 8] if self.position + 8 < len(self._data) else 0
        # The width of the first code follows.
        self.position = self.after_palette(self.position + _EDGES_BYTES, flags) + 1
        self._pass_blocks()

    def _pass_extension(self) -> None:
        self.has_comment |= self._data[self.position : self.position + 1] == bytes((_COMMENT,))
        self.position += 1
        self._pass_blocks()

    def _pass_blocks(self) -> None:
        """Go past blocks that each begin with their size; one of none ends them."""
        data, position, last = self._data, self.position, len(self._data)
        while position < last and (size := data[position]):
            position += 1 + size
            self._count_piece()
        self._is_cut |= position >= last
        self.position = min(position + 1, last)


GIF = Format(
    "GIF",
    suffixes=(".gif",),
    signatures=(b"GIF87a", b"GIF89a"),
    decode=read_gif,
)
