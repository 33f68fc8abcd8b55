"""The lists of tags of a TIFF (IFDs), as bytes: for a file whose strips or tiles are written already."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

# Types of values: number, NumPy type.
_TYPES = {1: "u1", 2: "u1", 3: "<u2", 4: "<u4", 5: "<u4", 7: "u1", 11: "<f4", 12: "<f8", 16: "<u8"}
KNOWN_TYPES = frozenset(_TYPES)
BYTES, TEXT, SHORT, LONG, RATIONAL, UNDEFINED, DOUBLE, LONG8 = 1, 2, 3, 4, 5, 7, 12, 16
# Largest offset of a classic TIFF.
CLASSIC_BYTES = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag: its number, the type of its values, and these; a text or bytes as they are."""

    code: int
    type: int
    values: bytes | Sequence[int] | Sequence[float]

    def packed(self) -> tuple[int, bytes]:
        """Return the count of its values, and their bytes."""
        if isinstance(self.values, bytes):
            data = (
                self.values + b"\0" if self.type == TEXT and not self.values.endswith(b"\0") else self.values
            )
            return len(data), data
        array = np.asarray(self.values, _TYPES[self.type])
        return len(array) // (2 if self.type == RATIONAL else 1), array.tobytes()


@dataclass(slots=True)
class Page:
    """A page with its tags, and the smaller levels of it."""

    tags: list[Tag]
    smaller: "list[Page]" = field(default_factory=list)


def lists_of_tags(pages: Sequence[Page], begin: int, *, is_big: bool) -> tuple[bytes, bytes]:
    """Return the bytes that follow the pixels, which end at `begin`, and those of the file's header."""
    parts: list[bytes] = []
    at = begin + begin % 2
    parts.append(b"\0" * (at - begin))
    first = 0
    # Each list names the next one, so the last comes first.
    for page in reversed(pages):
        offsets = []
        for level in page.smaller:
            data, offset = _list(level.tags, at, 0, is_big=is_big)
            parts.append(data)
            at += len(data)
            offsets.append(offset)
        tags = [*page.tags, *([Tag(330, LONG8 if is_big else LONG, offsets)] if offsets else [])]
        data, first = _list(tags, at, first, is_big=is_big)
        parts.append(data)
        at += len(data)
    header = (
        struct.pack("<2sHHHQ", b"II", 43, 8, 0, first) if is_big else struct.pack("<2sHI", b"II", 42, first)
    )
    return b"".join(parts), header


def _list(tags: Sequence[Tag], at: int, following: int, *, is_big: bool) -> tuple[bytes, int]:
    """Return the bytes of a list that is written at an offset, its values before it, and where it begins."""
    inline, entry, offset = (8, "<HHQ", "<Q") if is_big else (4, "<HHI", "<I")
    values: list[bytes] = []
    entries: list[bytes] = []
    end = at
    for tag in sorted(tags, key=lambda tag: tag.code):
        count, data = tag.packed()
        if len(data) <= inline:
            field_ = data.ljust(inline, b"\0")
        else:
            field_ = struct.pack(offset, end)
            data += b"\0" * (-len(data) % 8)
            values.append(data)
            end += len(data)
        entries.append(struct.pack(entry, tag.code, tag.type, count) + field_)
    count_text = struct.pack("<Q" if is_big else "<H", len(entries))
    return b"".join((*values, count_text, *entries, struct.pack(offset, following))), end
