"""PNG: the chunks are read and checked here, the pixels are decoded by imagecodecs (libpng).

Pillow cuts 16-bit RGB to 8 bit and decodes the whole picture to find an EXIF chunk that follows the pixels;
libpng only warns of a wrong checksum outside the pixels. So the walk over the chunks is ours.
"""

import logging
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from engine.image.budget import check_budget
from engine.image.decoded import Decoded
from engine.image.exif import orientation_of_exif
from engine.image.faults import Refused

_SIGNATURE_BYTES = 8
_IHDR_END = 33  # signature, length, type, 13 bytes of header, checksum

# Colour type -> (channels, legal depths), table 11.1 of the PNG specification.
_COLOUR_TYPES: dict[int, tuple[int, tuple[int, ...]]] = {
    0: (1, (1, 2, 4, 8, 16)),
    2: (3, (8, 16)),
    3: (3, (1, 2, 4, 8)),
    4: (2, (8, 16)),
    6: (4, (8, 16)),
}

# A profile is some kB; one that inflates further is not a profile.
_MAX_PROFILE_BYTES = 64 * 2**20


def read_png(file: BinaryIO, max_bytes: int) -> Decoded:
    """Decode a PNG exactly: palette and transparency expanded, 1, 2 and 4 bit scaled to 8.

    Parameters
    ----------
    file : binary file
        At its start.
    max_bytes : int
        Limit on the bytes of the decoded picture.

    Raises
    ------
    Refused
        Too large, or not a legal PNG. Errors of imagecodecs pass through.
    """
    width, height, depth, colour_type = _read_header(file.read(_IHDR_END))
    colours = _COLOUR_TYPES[colour_type][0]
    # tRNS may add alpha to colour types 0, 2 and 3; the one channel more is counted at once.
    channels = colours + 1 if colour_type in (0, 2, 3) else colours
    check_budget(width, height, channels, 2 if depth == 16 else 1, max_bytes)

    file.seek(0)
    data = file.read()
    extras = _checked_chunks(data)
    has_alpha = b"tRNS" in extras or colour_type in (4, 6)

    import imagecodecs

    # libpng's warnings (interlacing, too much data) are no news to people; without a handler they go to stderr.
    logging.getLogger("imagecodecs").addHandler(logging.NullHandler())
    image = imagecodecs.png_decode(data)

    grey = colour_type in (0, 4)
    expected = (height, width, (1 if grey else 3) + has_alpha)
    if image.reshape(height, width, -1).shape != expected or image.dtype.itemsize != (
        2 if depth == 16 else 1
    ):
        raise Refused(f"it decodes to {image.dtype} {image.shape}, its header promised {expected}")
    image = image.reshape(expected)
    frames = struct.unpack(">I", extras[b"acTL"][:4])[0] if len(extras.get(b"acTL", b"")) >= 4 else 1
    return Decoded(
        pixels=np.ascontiguousarray(image[..., 0] if grey else image[..., :3]),
        alpha=np.ascontiguousarray(image[..., -1]) if has_alpha else None,
        icc_profile=_profile(extras.get(b"iCCP")),
        orientation=orientation_of_exif(extras.get(b"eXIf")),
        notes=(f"It is an animation of {frames} frames; the first was opened.",) if frames > 1 else (),
    )


def _read_header(head: bytes) -> tuple[int, int, int, int]:
    """Width, height, depth and colour type of the IHDR chunk."""
    if len(head) < _IHDR_END:
        raise Refused(f"it ends after {len(head)} bytes, within its header")
    length, kind = struct.unpack(">I4s", head[_SIGNATURE_BYTES:16])
    if kind != b"IHDR" or length != 13:
        raise Refused("its first chunk is not a PNG header")
    if zlib.crc32(head[12:29]) != struct.unpack(">I", head[29:33])[0]:
        raise Refused("the checksum of its header is wrong: the file is damaged")
    width, height, depth, colour_type, _, _, _ = struct.unpack(">IIBBBBB", head[16:29])
    if colour_type not in _COLOUR_TYPES:
        raise Refused(f"its header names colour type {colour_type}, which PNG does not have")
    if depth not in _COLOUR_TYPES[colour_type][1]:
        raise Refused(f"its header names {depth} bits for colour type {colour_type}, which PNG does not have")
    return width, height, depth, colour_type


def _checked_chunks(data: bytes) -> dict[bytes, bytes]:
    """Content of every chunk except the pixels, by type; each checksum is verified (1 GB/s)."""
    extras: dict[bytes, bytes] = {}
    pixel_bytes = 0
    for kind, content in _chunks(data):
        if kind == b"IDAT":
            pixel_bytes += len(content)
        else:
            extras.setdefault(kind, bytes(content))
    if b"IEND" not in extras:
        raise Refused(f"it ends after {len(data):,} bytes, before its last chunk: the file was cut short")
    if not pixel_bytes:
        raise Refused("it holds no pixels (no IDAT chunk)")
    return extras


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    view = memoryview(data)
    position = _SIGNATURE_BYTES
    while position + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        end = position + 8 + length
        if end + 4 > len(data):
            return
        if zlib.crc32(view[position + 4 : end]) != struct.unpack_from(">I", data, end)[0]:
            name = kind.decode("latin-1")
            raise Refused(f"the checksum of its {name!r} chunk is wrong: the file is damaged")
        yield kind, view[position + 8 : end]
        if kind == b"IEND":
            return
        position = end + 4


def _profile(chunk: bytes | None) -> bytes | None:
    """Colour profile of an iCCP chunk (name, NUL, method, deflated profile); a damaged one is left out."""
    if chunk is None:
        return None
    _, _, rest = chunk.partition(b"\0")
    inflater = zlib.decompressobj()
    try:
        profile = inflater.decompress(rest[1:], _MAX_PROFILE_BYTES)
    except zlib.error:
        return None
    return profile if inflater.eof else None
