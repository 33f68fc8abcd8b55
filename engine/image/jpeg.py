"""JPEG: finding out whether the compressed data reaches the end of the picture.

A JPEG has no checksum. Where the data stops early but an end marker follows, libjpeg fills the rest and only
counts a warning, which no Python library passes on. But a decoder that has all it needs skips surplus bytes
before the end marker, and one that has not takes them for data: so the same pixels with and without surplus
prove that nothing was missing. It costs a second decoding (12 megapixels: 60 ms).
"""

import re

_END_OF_IMAGE = 0xD9
_START_OF_SCAN = 0xDA

# Within compressed data FF is followed by 00 (a plain FF), D0 to D7 (a restart) or FF (fill); else a marker.
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")

# Restart markers, fill bytes and the temporary marker stand alone; all other markers are followed by a length.
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))

_SURPLUS = bytes.fromhex("a5 5a 96 69 3c c3 e1 1e") * 512


def with_surplus_data(data: bytes) -> bytes | None:
    """Return the first picture of a JPEG file with some kB of surplus data before its end marker.

    Parameters
    ----------
    data : bytes
        The whole file, at its start the marker FF D8.

    Returns
    -------
    bytes or None
        None where there is no end marker, which the decoder itself complains of.
    """
    end = _end_of_first_image(data)
    return None if end is None else data[:end] + _SURPLUS + b"\xff\xd9"


def _end_of_first_image(data: bytes) -> int | None:
    position = 2
    while position + 4 <= len(data) + 2:
        if data[position : position + 1] != b"\xff":
            return None
        marker = data[position + 1] if position + 1 < len(data) else 0
        if marker == 0xFF:
            position += 1
            continue
        if marker == _END_OF_IMAGE:
            return position
        if marker in _ALONE:
            position += 2
            continue
        position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
        if marker == _START_OF_SCAN:
            found = _MARKER.search(data, position)
            if found is None:
                return None
            position = found.start()
    return None
