"""JPEG: finding out whether the compressed data reaches the end of the picture.

A JPEG has no checksum. Where the data stops early but an end marker follows, libjpeg fills the rest and only
counts a warning, which no Python library passes on. But a decoder that has all it needs skips surplus bytes
before the end marker, and one that has not takes them for data: so the same pixels with and without surplus
prove that nothing was missing. It costs a second decoding (12 megapixels: 60 ms).
"""

import io
import mmap
import re
import struct
from dataclasses import dataclass
from typing import BinaryIO

_END_OF_IMAGE = 0xD9
_START_OF_SCAN = 0xDA

# Within compressed data FF is followed by 00 (a plain FF), D0 to D7 (a restart) or FF (fill); else a marker.
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")

# Restart markers, fill bytes and the temporary marker stand alone; all other markers are followed by a length.
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))

_SURPLUS = bytes.fromhex("a5 5a 96 69 3c c3 e1 1e") * 512

# Start of frame -> the fewest bits that a block of 8 x 8 samples can have: a code for its mean, and in one
# scan (sequential) one for its end. Arithmetic coding (C9 on) takes less than a bit for what it expects.
_FEWEST_BITS = {0xC0: 2, 0xC1: 2, 0xC2: 1}
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = (0xC2, 0xCA)
# Differential frames of a hierarchical file, and lossless ones with arithmetic coding.
_OTHER_DEPTHS = frozenset(range(2, 17)) - {8}
_NOT_READ = {0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF}


@dataclass(frozen=True, slots=True)
class Frame:
    """What the header of a JPEG says of its compressed data.

    Parameters
    ----------
    blocks : int
        Blocks of 8 x 8 samples, of all components.
    fewest_bytes : int
        No legal file of that size is shorter.
    is_progressive : bool
        The decoder holds all coefficients until the last scan.
    unread : str
        What no decoder here reads, in words; empty for what is read.
    """

    blocks: int
    fewest_bytes: int
    is_progressive: bool
    unread: str

    @property
    def coefficient_bytes(self) -> int:
        """Memory for the coefficients where all are held: 64 of two bytes a block."""
        return 128 * self.blocks if self.is_progressive else 0


_NO_FRAME = Frame(0, 0, False, "")


class WithSurplus(io.RawIOBase):
    """The first picture of a JPEG file with surplus data before its end marker, without a copy of it.

    Parameters
    ----------
    file : binary file
    end : int
        Offset of the end marker.
    """

    def __init__(self, file: BinaryIO, end: int) -> None:
        self._file = file
        self._end = end
        self._tail = _SURPLUS + b"\xff\xd9"
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to an offset, as of any file."""
        begin = (0, self._position, self._end + len(self._tail))[whence]
        self._position = max(0, begin + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer from where the file stands, as of any file."""
        if self._position < self._end:
            self._file.seek(self._position)
            part = self._file.read(min(len(buffer), self._end - self._position))
        else:
            begin = self._position - self._end
            part = self._tail[begin : begin + len(buffer)]
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)


def frame_of(file: BinaryIO) -> Frame:
    """Read the frame header of a JPEG file; where there is none, which Pillow refuses, an empty one."""
    position, marker = 2, 0
    while True:
        file.seek(position)
        head = file.read(4)
        if len(head) < 4 or head[0] != 0xFF:
            return _NO_FRAME
        marker = head[1]
        if marker == 0xFF:
            position += 1
            continue
        if marker in (_START_OF_SCAN, _END_OF_IMAGE):
            return _NO_FRAME
        if marker in _FRAMES:
            return _frame(marker, file.read(struct.unpack(">H", head[2:])[0] - 2))
        position += 2 + (0 if marker in _ALONE else struct.unpack(">H", head[2:])[0])


def _frame(marker: int, content: bytes) -> Frame:
    if len(content) < 6 or len(content) < 6 + 3 * content[5]:
        return _NO_FRAME
    bits, height, width, count = struct.unpack(">BHHB", content[:6])
    sampling = [(content[7 + 3 * i] >> 4, content[7 + 3 * i] & 15) for i in range(count)]
    if not sampling or any(not across or not down for across, down in sampling):
        return _NO_FRAME
    most_across, most_down = max(across for across, _ in sampling), max(down for _, down in sampling)
    blocks = sum(
        -(-width * across // (8 * most_across)) * -(-height * down // (8 * most_down))
        for across, down in sampling
    )
    unread = (
        "it is hierarchical"
        if marker in _NOT_READ
        else f"it has {bits} bits per sample"
        if bits in _OTHER_DEPTHS
        else ""
    )
    return Frame(blocks, blocks * _FEWEST_BITS.get(marker, 0) // 8, marker in _PROGRESSIVE, unread)


def end_of_first_image(file: BinaryIO) -> int | None:
    """Offset of the end marker of the first picture in a JPEG file; None where there is none.

    Parameters
    ----------
    file : binary file
        A real one, at its start the marker FF D8.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _end_marker(data)


def _end_marker(data: mmap.mmap) -> int | None:
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
