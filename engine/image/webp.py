"""WebP: a still picture is decoded by imagecodecs (libwebp) into its place, an animation by Pillow.

Pillow decodes every WebP as an animation: two canvases of 4 bytes per pixel, and copies of them.
"""

import struct
from typing import BinaryIO, NamedTuple

import numpy as np

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.metadata import named_metadata, orientation_of_exif, orientation_of_xmp
from engine.image.pillow import read_with_pillow

_ALPHA_FLAG, _ANIMATION_FLAG = 0x10, 0x02

# What is held beside the picture, bytes per pixel. libwebp: all pixels of a lossless picture; of the alpha of
# a lossy one its plane, and where that is compressed as a lossless picture, which it is then. Animations: two
# canvases, Pillow's copy and its image.
_LOSSLESS_BYTES, _ALPHA_PLANE_BYTES, _ANIMATION_BYTES = 4, 1, 16


class _Facts(NamedTuple):
    """What the chunks of a file say; `bytes_beside` is per pixel."""

    width: int
    height: int
    has_alpha: bool
    is_animation: bool
    bytes_beside: int
    fewest_bytes: int
    metadata: dict[bytes, bytes]


def read_webp(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a WebP; of an animation the first frame."""
    facts = _facts(file)
    form = Form(facts.height, facts.width, 3, facts.has_alpha, np.dtype(np.uint8))
    file_bytes = file.seek(0, 2)
    budget.check(form, form.pixel_count * facts.bytes_beside + file_bytes)
    check_long_enough(form, file_bytes, facts.fewest_bytes)
    if facts.is_animation:
        return read_with_pillow("WEBP", file, budget, allocate)

    import imagecodecs

    file.seek(0)
    data = file.read()
    exif, xmp = facts.metadata.get(b"EXIF"), facts.metadata.get(b"XMP ")
    canvas = Canvas(form, orientation_of_exif(exif) or orientation_of_xmp(xmp), allocate)
    canvas.decode_into(lambda out: imagecodecs.webp_decode(data, hasalpha=facts.has_alpha, out=out))
    return Decoded(canvas, facts.metadata.get(b"ICCP"), metadata=named_metadata(exif=exif))


def _facts(file: BinaryIO) -> _Facts:
    """Walk over the chunks; the pixels are not read."""
    file.seek(0)
    riff_bytes = struct.unpack("<4sI4s", file.read(12))[1]
    file_bytes = file.seek(0, 2)
    if file_bytes < 8 + riff_bytes:
        raise Refused(f"it ends after {file_bytes:,} of {8 + riff_bytes:,} bytes: it was cut short")
    position = 12
    flags, canvas, picture = 0, None, None
    alpha_head: bytes | None = None
    metadata: dict[bytes, bytes] = {}
    while position + 8 <= file_bytes:
        file.seek(position)
        kind, size = struct.unpack("<4sI", file.read(8))
        if kind == b"VP8X":
            flags, canvas = _canvas(file.read(10))
        elif kind in (b"VP8 ", b"VP8L") and picture is None:
            picture = kind, *_size_and_alpha(kind, file.read(10))
        elif kind == b"ALPH":
            alpha_head = file.read(1)
        elif kind in (b"ICCP", b"EXIF", b"XMP "):
            metadata.setdefault(kind, file.read(size))
        position += 8 + size + size % 2
    is_animation = bool(flags & _ANIMATION_FLAG)
    if is_animation and canvas is not None:
        return _Facts(*canvas, bool(flags & _ALPHA_FLAG), True, _ANIMATION_BYTES, 0, metadata)
    if picture is None:
        raise Refused("it holds no pixels (no VP8 or VP8L chunk)")
    kind, width, height, has_alpha = picture
    is_lossless = kind == b"VP8L"
    # A lossless picture of one colour takes no bits at all; a lossy one more than a bit for each 16 x 16
    # pixels.
    fewest = 0 if is_lossless else -(-width // 16) * -(-height // 16) // 8
    beside = _LOSSLESS_BYTES if is_lossless else _alpha_bytes(alpha_head)
    return _Facts(width, height, has_alpha or alpha_head is not None, False, beside, fewest, metadata)


def _alpha_bytes(head: bytes | None) -> int:
    """Return the bytes per pixel for the alpha of a lossy picture; two bits name its compression."""
    if head is None:
        return 0
    return _ALPHA_PLANE_BYTES + (_LOSSLESS_BYTES if head and head[0] & 3 else 0)


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
