"""A file that grows at its end, with its length and checksum: a later run goes on only with what is whole."""

import io
import os
import stat
import zlib
from pathlib import Path
from typing import Any, BinaryIO

_BLOCK_BYTES = 4 << 20


class PartDamaged(Exception):
    """What an earlier run has left is not what its journal says; the text says which part of it."""


class CheckedFile:
    """A file that is made, or one that an earlier run has left: its `state`, which is checked.

    Without a path it is in memory.

    Raises
    ------
    PartDamaged
        It does not hold what its state says.
    """

    def __init__(self, path: Path | None, state: dict[str, Any] | None = None) -> None:
        self.byte_count, self._checksum = 0, 0
        if path is None or state is None:
            self._file: BinaryIO = io.BytesIO() if path is None else path.open("w+b")
            return
        self.byte_count, self._checksum = int(state["bytes"]), int(state["crc32"])
        check_file(path, self.byte_count, self._checksum)
        self._file = path.open("r+b")
        # What came after its state was written down.
        self._file.truncate(self.byte_count)
        self._file.seek(self.byte_count)

    def append(self, data: Any) -> None:
        """Write bytes, or a contiguous array, at the end."""
        view = memoryview(data)
        self._file.write(view)
        self.byte_count += view.nbytes
        self._checksum = zlib.crc32(view, self._checksum)

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes of it."""
        self._file.seek(offset)
        data = self._file.read(count)
        self._file.seek(self.byte_count)
        return data

    def content(self) -> bytes:
        """Return all of one in memory, without a copy."""
        assert isinstance(self._file, io.BytesIO)
        return self._file.getvalue()

    def finish(self, head: bytes) -> None:
        """Replace the first bytes, by which a program knows it, once all others are on the disk."""
        self.state()
        self._file.seek(0)
        self._file.write(head)
        self.state()

    def state(self) -> dict[str, Any]:
        """Bring to the disk what was written; return what a later run needs to check it."""
        self._file.flush()
        if not isinstance(self._file, io.BytesIO):
            os.fsync(self._file.fileno())
        return {"bytes": self.byte_count, "crc32": self._checksum}

    def close(self) -> None:
        """Close it."""
        self._file.close()


def check_file(path: Path, byte_count: int, checksum: int) -> None:
    """Raise PartDamaged unless a file begins with so many bytes of this checksum."""
    found, left = 0, byte_count
    # Another kind of file may have no end, or wait for a writer.
    if path.is_symlink() or not stat.S_ISREG(path.stat().st_mode):
        raise PartDamaged(f"{path.name} is no file")
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
            found, left = zlib.crc32(block, found), left - len(block)
    if left > 0:
        raise PartDamaged(f"{path.name} is shorter than it was")
    if found != checksum:
        raise PartDamaged(f"{path.name} has other bytes")


def checksum_of(path: Path) -> tuple[int, int]:
    """Return the length and the checksum of a small file."""
    data = path.read_bytes()
    return len(data), zlib.crc32(data)
