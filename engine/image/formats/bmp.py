"""BMP, decoded by Pillow."""

from typing import BinaryIO

from engine.image.canvas import Allocate, Decoded
from engine.image.faults import Unsupported
from engine.image.form import Budget
from engine.image.format import Format
from engine.image.formats.pillow import opened_with_pillow, read_with_pillow

# What Pillow says of intact BMP files that it does not decode, as of `Format`.
BMP_UNSUPPORTED: tuple[tuple[str, str], ...] = (
    (r"BMP compression \(4\)|BMP pixel depth \(0\)", "it holds a JPEG or a PNG"),
    (r"BMP compression \(5\)", "it holds a PNG"),
    (r"BMP compression \(6\)", "its channels and its alpha are named by masks"),
    (r"BMP bitfields layout", "its channels are named by masks of an unusual layout"),
    (r"BMP header type \((16|64)\)", "it is one of OS/2 (a header of {1} bytes)"),
    (r"BMP pixel depth \((2|64)\)", "it has {1} bits per pixel"),
)
# Numbers of compressions. Pillow cuts a run that passes the end of its row, and counts an empty row as none.
_RUNS = (1, 2)


def read_bmp(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a BMP."""
    with opened_with_pillow(file, "BMP") as image:
        if image.info.get("compression") in _RUNS:
            raise Unsupported("its pixels are packed in runs (RLE)")
    return read_with_pillow("BMP", file, budget, allocate)


BMP = Format(
    "BMP",
    suffixes=(".bmp", ".dib"),
    signatures=(b"BM",),
    decode=read_bmp,
    unsupported=BMP_UNSUPPORTED,
)
