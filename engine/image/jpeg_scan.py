"""JPEG: whether a file has the codes of its last block, by a walk over its Huffman codes.

Most files are baseline: one scan with all channels. There a walk (12 megapixels: 15 ms, while the picture is
decoded) proves what a second decoding with surplus data proves of any file (41 ms, see `jpeg`).
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.image.jpeg import markers

if TYPE_CHECKING:
    from engine.compiled.machine_code import MachineFunction

_BASELINE = (0xC0, 0xC1)
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_TABLES, _INTERVAL, _SCAN, _END = 0xC4, 0xDD, 0xDA, 0xD9
_SHORT_BITS = 9
_BLOCK_END = 128


class _Tables(NamedTuple):
    """What codes take and lead on by, as `jpeg_code.walk` reads it: four of means, four of the rest."""

    short: NDArray[np.uint16]
    long: NDArray[np.uint16]


class _Scan(NamedTuple):
    """The arguments of `jpeg_code.walk` but for the data."""

    begin: int
    tables: _Tables
    first: NDArray[np.int64]
    others: NDArray[np.int64]
    units: int
    interval: int


def is_complete(data: bytes, end: int) -> bool:
    """Return whether every block of a JPEG has its codes before its end marker; False where it is not known.

    `data` is the file, `end` the offset of the end marker of its first picture.
    """
    try:
        scan = _scan(data, end)
    except (IndexError, ValueError, ArithmeticError):  # damaged tables
        return False
    if scan is None:
        return False
    done = np.zeros(1, np.int64)
    begin, tables, first, others, units, interval = scan
    samples = np.frombuffer(data, np.uint8)
    _walk()(samples, begin, end, tables.short, tables.long, first, others, units, interval, done)
    return bool(done[0] == units)


@cache
def _walk() -> "MachineFunction":
    # It loads llvmlite, which whoever filters a picture needs too.
    from engine.compiled.machine_code import MachineFunction

    return MachineFunction("engine.image.jpeg_code", "walk")


def _scan(data: bytes, end: int) -> _Scan | None:
    """Return the only scan of a baseline file; None for files of another kind."""
    tables = _Tables(np.zeros((8, 1 << _SHORT_BITS), np.uint16), np.zeros((8, 1 << 16), np.uint16))
    frame, interval, scan = b"", 0, None
    for marker, position in markers(data):
        content = data[position + 4 : position + 2 + int.from_bytes(data[position + 2 : position + 4], "big")]
        if marker in _FRAMES:
            if marker not in _BASELINE or frame:
                return None
            frame = content
        elif scan is not None:
            # Another scan, or the number of rows: only a file that ends here is known.
            return scan if marker == _END and position == end else None
        elif marker == _TABLES:
            _read_tables(content, tables)
        elif marker == _INTERVAL:
            interval = int.from_bytes(content[:2], "big")
        elif marker == _SCAN:
            scan = _scan_of(frame, content, position + 4 + len(content), tables, interval)
            if scan is None:
                return None
        elif marker == _END:
            return None
    return None


def _scan_of(frame: bytes, content: bytes, begin: int, tables: _Tables, interval: int) -> _Scan | None:
    count = content[0]
    # All coefficients at once, of all channels.
    if not frame or frame[0] != 8 or frame[5] != count or content[1 + 2 * count :] != b"\0\x3f\0":
        return None
    height, width = int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:5], "big")
    channels = [frame[6 + 3 * n : 9 + 3 * n] for n in range(count)]
    sampling = [(channel[1] >> 4, channel[1] & 15) for channel in channels]
    if [channel[0] for channel in channels] != list(content[1 : 1 + 2 * count : 2]):
        return None
    most_across, most_down = max(across for across, _ in sampling), max(down for _, down in sampling)
    if count == 1:  # blocks follow one another, whatever the sampling
        sampling, most_across, most_down = [(1, 1)], 1, 1
    units = -(-width // (8 * most_across)) * -(-height // (8 * most_down))
    numbers = [
        choice for (across, down), choice in zip(sampling, content[2::2], strict=False)
        for _ in range(across * down)
    ]  # fmt: skip
    if any(choice >> 4 > 3 or choice & 15 > 3 for choice in numbers):
        return None
    first = np.array([choice >> 4 for choice in numbers], np.int64)
    others = np.array([4 + (choice & 15) for choice in numbers], np.int64)
    return _Scan(begin, tables, first, others, units, interval)


def _read_tables(content: bytes, tables: _Tables) -> None:
    """Read the Huffman tables of a DHT segment (ITU-T T.81, B.2.4.2 and C.2)."""
    while content:
        kind, number = content[0] >> 4, content[0] & 15
        if kind > 1 or number > 3:
            raise ValueError("no such table")
        lengths = content[1:17]
        symbols = content[17 : 17 + sum(lengths)]
        _fill(4 * kind + number, kind == 1, lengths, symbols, tables)
        content = content[17 + len(symbols) :]


def _fill(table: int, is_of_others: bool, lengths: Sequence[int], symbols: bytes, tables: _Tables) -> None:
    tables.short[table] = 0
    tables.long[table] = 0
    code, at = 0, 0
    for length, count in enumerate(lengths, start=1):
        for symbol in symbols[at : at + count]:
            # All numbers of 16 bits that begin with the code.
            begin, past = code << (16 - length), (code + 1) << (16 - length)
            if past > 1 << 16:
                raise ValueError("more codes than bits")
            entry = _entry(symbol, length, is_of_others)
            tables.long[table, begin:past] = entry
            if length <= _SHORT_BITS:
                tables.short[table, begin >> (16 - _SHORT_BITS) : past >> (16 - _SHORT_BITS)] = entry
            code += 1
        at += count
        code <<= 1


def _entry(symbol: int, length: int, is_of_others: bool) -> int:
    """Return the bits of a code with its value, and 64 times the coefficients that it is for; 0: illegal."""
    run, size = symbol >> 4, symbol & 15
    if not is_of_others:
        return 64 + length + symbol if symbol < 16 else 0
    if size == 0 and run not in (0, 15):
        return 0
    coefficients = _BLOCK_END if symbol == 0 else run + 1
    return 64 * coefficients + length + size
