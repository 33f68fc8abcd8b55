"""BMP: runs of pixels (RLE) are unpacked here, all else is decoded by Pillow.

Pillow cuts a run that passes the end of its row, and counts an empty row as none, without a word.
"""

import io
import struct
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.image.canvas import Allocate, Decoded
from engine.image.faults import Refused
from engine.image.form import Budget, Form
from engine.image.format import Format
from engine.image.formats.jpeg_markers import CUT_SHORT, DAMAGED
from engine.image.formats.pillow import read_with_pillow

# What Pillow says of intact BMP files that it does not decode, as of `Format`.
BMP_UNSUPPORTED: tuple[tuple[str, str], ...] = (
    (r"BMP compression \(4\)|BMP pixel depth \(0\)", "it holds a JPEG or a PNG"),
    (r"BMP compression \(5\)", "it holds a PNG"),
    (r"BMP compression \(6\)", "its channels and its alpha are named by masks"),
    (r"BMP bitfields layout", "its channels are named by masks of an unusual layout"),
    (r"BMP header type \((16|64)\)", "it is one of OS/2 (a header of {1} bytes)"),
    (r"BMP pixel depth \((2|64)\)", "it has {1} bits per pixel"),
)

_FILE_HEADER = 14
_LEAST_HEADER, _COLOURS = 40, 46
# Compression -> bits per pixel.
_RUNS = {1: 8, 2: 4}
# After a count of 0; a larger number counts pixels that follow one by one.
_END_OF_ROW, _END, _MOVE = range(3)


def read_bmp(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a BMP."""
    head = file.read(_FILE_HEADER + _LEAST_HEADER)
    if len(head) < _FILE_HEADER + _LEAST_HEADER:
        return read_with_pillow("BMP", file, budget, allocate)
    begin, header_bytes, width, height, _, bits, compression = struct.unpack_from("<IIiiHHI", head, 10)
    if header_bytes < _LEAST_HEADER or _RUNS.get(compression) != bits:
        return read_with_pillow("BMP", file, budget, allocate)
    form = Form(abs(height), width, 3, False, np.dtype(np.uint8))
    file_bytes = file.seek(0, 2)
    # The pixels one by one, in an array and in a file, and what is read.
    budget.check(form, 2 * form.pixel_count + file_bytes)
    file.seek(0)
    data = file.read()
    indices, notes = _unpacked(data[begin:], form.height, width, bits)
    # A row has a multiple of four bytes.
    rows = np.pad(indices, ((0, 0), (0, -width % 4)))
    colours = min(struct.unpack_from("<I", head, _COLOURS)[0] or 2**bits, 2**bits)
    palette = data[_FILE_HEADER + header_bytes : begin][: 4 * colours].ljust(4 * 256, b"\0")
    plain = struct.pack("<HHIIiiII", 1, 8, 0, rows.size, *struct.unpack_from("<ii", head, 38), 0, 0)
    start = struct.pack("<2sIHHII", b"BM", 0, 0, 0, len(head) + len(palette), _LEAST_HEADER)
    whole = b"".join((start, struct.pack("<ii", width, height), plain, palette, rows.tobytes()))
    decoded = read_with_pillow("BMP", io.BytesIO(whole), budget, allocate)
    return decoded._replace(notes=(*decoded.notes, *notes))


def _unpacked(data: bytes, height: int, width: int, bits: int) -> tuple[NDArray[np.uint8], list[str]]:
    """Return the number of each pixel's colour, row by row as they are stored, and notes on damage."""
    found = bytearray(height * width)
    pixels_of = [bytes((value,)) if bits == 8 else bytes((value >> 4, value & 15)) for value in range(256)]
    at = row = column = covered = 0
    is_damaged = is_ended = False
    while at + 2 <= len(data) and not is_ended:
        count, value = data[at], data[at + 1]
        at += 2
        if count:
            pixels = pixels_of[value] * count
        elif value > _MOVE:
            count, size = value, value if bits == 8 else -(-value // 2)
            pixels = data[at : at + size]
            pixels = pixels if bits == 8 else b"".join([pixels_of[pair] for pair in pixels])
            at += size + size % 2
        else:
            is_ended = value == _END
            if value == _END_OF_ROW:
                row, column = row + 1, 0
            elif value == _MOVE and at + 2 <= len(data):
                row, column, at = row + data[at + 1], column + data[at], at + 2
            continue
        kept = min(count, width - column, len(pixels)) if row < height else 0
        if kept > 0:
            begin = row * width + column
            found[begin : begin + kept] = pixels[:kept]
            covered += kept
        if kept < count:
            is_damaged = True
        column += count
    left_out = height * width - covered
    if left_out and not is_ended:
        raise Refused(CUT_SHORT)
    notes = [DAMAGED] if is_damaged or row > height else []
    if left_out:
        notes.append(f"{left_out:,} of its pixels are not in its data, and have the first colour.")
    return np.frombuffer(found, np.uint8).reshape(height, width), notes


BMP = Format(
    "BMP",
    suffixes=(".bmp", ".dib"),
    signatures=(b"BM",),
    decode=read_bmp,
    unsupported=BMP_UNSUPPORTED,
)
