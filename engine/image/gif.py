"""GIF: its size is read here, its pixels by Pillow.

Pillow takes the memory of a frame that is to be wiped while it opens a file, before anyone can ask how large
that is.
"""

import struct
from typing import BinaryIO

import numpy as np

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Decoded
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.pillow import read_with_pillow

# LZW: a code of 12 bits stands for a string of at most 4,096 pixels.
_MOST_PER_BYTE = 4096 * 8 // 12


def read_gif(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode the first frame of a GIF."""
    file.seek(0)
    screen = file.read(13)
    if len(screen) < 13:
        raise Refused(f"it ends after {len(screen)} bytes, within its header")
    width, height, flags = struct.unpack("<HHB", screen[6:11])
    if flags & 0x80:  # a palette
        file.seek(3 << (flags & 7) + 1, 1)
    left, top, frame_width, frame_height = _first_frame(file)
    # As Pillow has it: a frame that reaches beyond the screen makes the picture larger.
    rows, columns = max(height, top + frame_height), max(width, left + frame_width)
    # Pillow decides on the colours; the least is one index per pixel.
    form = Form(rows, columns, 1, False, np.dtype(np.uint8))
    frame_pixels = frame_width * frame_height
    budget.check(form, frame_pixels)
    check_long_enough(form, file.seek(0, 2), frame_pixels // _MOST_PER_BYTE)
    return read_with_pillow("GIF", file, budget, allocate)


def _first_frame(file: BinaryIO) -> tuple[int, int, int, int]:
    """Return the left and upper edge of the first frame, its width and its height."""
    while kind := file.read(1):
        if kind == b",":
            edges = file.read(8)
            if len(edges) < 8:
                break
            left, top, width, height = struct.unpack("<HHHH", edges)
            return left, top, width, height
        if kind == b"!":  # an extension: its label, and blocks that each begin with their size
            file.seek(1, 1)
            while (size := file.read(1)) and size[0]:
                file.seek(size[0], 1)
        elif kind == b";":
            raise Refused("it holds no frame")
    raise Refused("it ends before its first frame: it was cut short")
