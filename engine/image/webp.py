"""WebP: a still picture is decoded by imagecodecs (libwebp) into its place, an animation by Pillow.

Pillow decodes every WebP as an animation: two canvases of 4 bytes a pixel, and copies of them.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from engine.image.budget import Budget
from engine.image.canvas import Canvas
from engine.image.decoded import Decoded
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.metadata import named_metadata, orientation_of_exif, orientation_of_xmp
from engine.image.pillow import read_with_pillow

_ALPHA_FLAG, _ANIMATION_FLAG = 0x10, 0x02

# libwebp holds all pixels of a lossless picture, 4 bytes each. Animations: two canvases, Pillow's copy and
# its image.
_LOSSLESS_BYTES, _ANIMATION_BYTES = 4, 16


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the chunks of a file say."""

    width: int
    height: int
    has_alpha: bool
    is_animation: bool
    is_lossless: bool
    fewest_bytes: int
    metadata: dict[bytes, bytes]


def read_webp(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode a WebP; of an animation the first frame.

    Parameters
    ----------
    file : binary file
        At its start.
    budget : Budget

    Raises
    ------
    Refused
        Too large, or cut short. Errors of imagecodecs and Pillow pass through.
    """
    facts = _facts(file)
    form = Form(facts.height, facts.width, 3, facts.has_alpha, np.dtype(np.uint8))
    file_bytes = file.seek(0, 2)
    per_pixel = _ANIMATION_BYTES if facts.is_animation else _LOSSLESS_BYTES if facts.is_lossless else 0
    budget.check(form, form.pixel_count * per_pixel + file_bytes)
    if file_bytes < facts.fewest_bytes:
        raise Refused(
            f"it has {file_bytes:,} bytes, its {form.width:,} x {form.height:,} pixels take "
            f"{facts.fewest_bytes:,} at least: it was cut short or its header is damaged"
        )
    file.seek(0)
    if facts.is_animation:
        return read_with_pillow(file, "WebP", budget)

    import imagecodecs

    data = file.read()
    orientation = orientation_of_exif(facts.metadata.get(b"EXIF")) or orientation_of_xmp(
        facts.metadata.get(b"XMP ")
    )
    canvas = Canvas(form, orientation)
    canvas.decode_into(lambda out: imagecodecs.webp_decode(data, hasalpha=facts.has_alpha, out=out))
    metadata = named_metadata(exif=facts.metadata.get(b"EXIF"))
    return Decoded(canvas, facts.metadata.get(b"ICCP"), metadata=metadata)


def _facts(file: BinaryIO) -> _Facts:
    """Walk over the chunks; the pixels are not read."""
    file.seek(0)
    riff_bytes = struct.unpack("<4sI4s", file.read(12))[1]
    file_bytes = file.seek(0, 2)
    if file_bytes < 8 + riff_bytes:
        raise Refused(f"it ends after {file_bytes:,} of {8 + riff_bytes:,} bytes: it was cut short")
    position = 12
    flags, canvas, picture = 0, None, None
    has_alpha_chunk = False
    metadata: dict[bytes, bytes] = {}
    while position + 8 <= file_bytes:
        file.seek(position)
        kind, size = struct.unpack("<4sI", file.read(8))
        if kind == b"VP8X":
            flags, canvas = _canvas(file.read(10))
        elif kind in (b"VP8 ", b"VP8L") and picture is None:
            picture = kind, *_size_and_alpha(kind, file.read(10))
        elif kind == b"ALPH":
            has_alpha_chunk = True
        elif kind in (b"ICCP", b"EXIF", b"XMP "):
            metadata.setdefault(kind, file.read(size))
        position += 8 + size + size % 2
    is_animation = bool(flags & _ANIMATION_FLAG)
    if is_animation and canvas is not None:
        return _Facts(*canvas, bool(flags & _ALPHA_FLAG), True, False, 0, metadata)
    if picture is None:
        raise Refused("it holds no pixels (no VP8 or VP8L chunk)")
    kind, width, height, has_alpha = picture
    is_lossless = kind == b"VP8L"
    # A lossless picture of one colour takes no bits at all; a lossy one more than a bit for each 16 x 16
    # pixels.
    fewest = 0 if is_lossless else -(-width // 16) * -(-height // 16) // 8
    return _Facts(width, height, has_alpha or has_alpha_chunk, False, is_lossless, fewest, metadata)


def _canvas(content: bytes) -> tuple[int, tuple[int, int]]:
    if len(content) < 10:
        raise Refused("it ends within its header: it was cut short")
    width, height = (1 + int.from_bytes(content[begin : begin + 3], "little") for begin in (4, 7))
    return content[0], (width, height)


def _size_and_alpha(kind: bytes, head: bytes) -> tuple[int, int, bool]:
    if len(head) < 10:
        raise Refused("it ends within its header: it was cut short")
    if kind == b"VP8L":
        if head[0] != 0x2F:
            raise Refused("its header is damaged (no signature of a lossless picture)")
        bits = int.from_bytes(head[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF), bool(bits >> 28 & 1)
    if head[3:6] != b"\x9d\x01\x2a":
        raise Refused("its header is damaged (no start code of a lossy picture)")
    width, height = struct.unpack("<HH", head[6:10])
    return width & 0x3FFF, height & 0x3FFF, False
