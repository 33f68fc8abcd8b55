"""WebP: a still picture is decoded by imagecodecs (libwebp) into its place, an animation by Pillow.

Pillow decodes every WebP as an animation: two canvases of 4 bytes per pixel, and copies of them.
"""

import struct
from typing import BinaryIO, NamedTuple

import imagecodecs
import numpy as np

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.left_out import XMP
from engine.image.metadata import metadata_of, orientation_of_exif, orientation_of_xmp
from engine.image.pillow import read_with_pillow

_MOST_CHUNKS = 2**16
_ALPHA_FLAG, _ANIMATION_FLAG = 0x10, 0x02

# What is held beside the picture, bytes per pixel. libwebp: all pixels of a lossless picture; of the alpha of
# a lossy one its plane, and where that is compressed as a lossless picture, which it is then. Animations: two
# canvases, Pillow's copy and its image.
_LOSSLESS_BYTES, _ALPHA_PLANE_BYTES, _ANIMATION_BYTES = 4, 1, 16


class _Facts(NamedTuple):
    """What the header says; `bytes_beside` is per pixel."""

    width: int
    height: int
    has_alpha: bool
    bytes_beside: int
    fewest_bytes: int = 0
    is_animation: bool = False


def read_webp(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a WebP; of an animation the first frame."""
    chunks = _chunks(file)
    facts = _facts(chunks)
    form = Form(facts.height, facts.width, 3, facts.has_alpha, np.dtype(np.uint8))
    file_bytes = file.seek(0, 2)
    budget.check(form, form.pixel_count * facts.bytes_beside + file_bytes)
    check_long_enough(form, file_bytes, facts.fewest_bytes)
    if facts.is_animation:
        return read_with_pillow("WEBP", file, budget, allocate)

    file.seek(0)
    data = file.read()
    exif = chunks.get(b"EXIF")
    orientation = orientation_of_exif(exif) or orientation_of_xmp(chunks.get(b"XMP "))
    canvas = Canvas(form, orientation, allocate)
    canvas.decode_into(lambda out: imagecodecs.webp_decode(data, hasalpha=facts.has_alpha, out=out))
    left_out = (XMP,) if b"XMP " in chunks else ()
    return Decoded(canvas, chunks.get(b"ICCP"), metadata=metadata_of(exif, left_out=left_out))


def still_size(file: BinaryIO) -> tuple[int, int]:
    """Return width and height of a WebP; raise Refused for an animation, and for one that is damaged."""
    facts = _facts(_chunks(file))
    if facts.is_animation:
        raise Refused("it is an animation")
    return facts.width, facts.height


def _chunks(file: BinaryIO) -> dict[bytes, bytes]:
    """Return the first chunk of each kind: metadata whole, of others the first 10 bytes."""
    file.seek(0)
    riff_bytes = struct.unpack("<4sI4s", file.read(12))[1]
    file_bytes = file.seek(0, 2)
    if file_bytes < 8 + riff_bytes:
        raise Refused(f"it ends after {file_bytes:,} of {8 + riff_bytes:,} bytes: it was cut short")
    chunks: dict[bytes, bytes] = {}
    position, count = 12, 0
    while position + 8 <= file_bytes:
        count += 1
        if count > _MOST_CHUNKS:
            raise Refused(f"it has more than {_MOST_CHUNKS:,} chunks")
        file.seek(position)
        kind, size = struct.unpack("<4sI", file.read(8))
        if kind not in chunks:
            chunks[kind] = file.read(size if kind in (b"ICCP", b"EXIF", b"XMP ") else 10)
            if kind in (b"VP8X", b"VP8 ", b"VP8L") and len(chunks[kind]) < 10:
                raise Refused("it ends within its header: it was cut short")
        position += 8 + size + size % 2
    return chunks


def _facts(chunks: dict[bytes, bytes]) -> _Facts:
    extended = chunks.get(b"VP8X", bytes(10))
    kind = next((kind for kind in chunks if kind in (b"VP8 ", b"VP8L")), None)
    is_animation = bool(extended[0] & _ANIMATION_FLAG)
    if kind is None and not is_animation:
        raise Refused("it holds no pixels (no VP8 or VP8L chunk)")
    head = extended if is_animation or kind is None else chunks[kind]
    if is_animation:
        width, height = (1 + int.from_bytes(head[begin : begin + 3], "little") for begin in (4, 7))
        return _Facts(width, height, bool(head[0] & _ALPHA_FLAG), _ANIMATION_BYTES, is_animation=True)
    alpha = chunks.get(b"ALPH")
    if kind == b"VP8L":
        if head[0] != 0x2F:
            raise Refused("its header is damaged (no signature of a lossless picture)")
        bits = int.from_bytes(head[1:5], "little")
        has_alpha = bool(bits >> 28 & 1) or alpha is not None
        return _Facts(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF), has_alpha, _LOSSLESS_BYTES)
    if head[3:6] != b"\x9d\x01\x2a":
        raise Refused("its header is damaged (no start code of a lossy picture)")
    width, height = (side & 0x3FFF for side in struct.unpack("<HH", head[6:10]))
    # A lossy picture takes more than a bit for each 16 x 16 pixels; a lossless one of one colour none at all.
    fewest = -(-width // 16) * -(-height // 16) // 8
    if alpha is None:
        return _Facts(width, height, False, 0, fewest)
    # The lowest two bits name the compression of the alpha.
    is_compressed = bool(alpha and alpha[0] & 3)
    return _Facts(width, height, True, _ALPHA_PLANE_BYTES + _LOSSLESS_BYTES * is_compressed, fewest)
