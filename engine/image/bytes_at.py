"""Bytes of a file at any offset, read by any number of threads."""

import os
import threading
from typing import BinaryIO

from engine.image.faults import Refused

# One call of the system reads at most 2 GB.
_MOST_AT_ONCE = 1 << 30


class BytesAt:
    """A file, open for reading; every read names its offset, so threads do not disturb one another."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = threading.Lock()
        self.size = os.fstat(self._file.fileno()).st_size

    def fill(self, offset: int, out: memoryview) -> None:
        """Read as many bytes as `out` has; Refused says where the file ends too early."""
        done = 0
        while done < len(out):
            part = out[done : done + _MOST_AT_ONCE]
            if hasattr(os, "preadv"):
                count = os.preadv(self._file.fileno(), [part], offset + done)
            else:
                with self._lock:  # Windows and macOS 10 have a single position for all threads
                    self._file.seek(offset + done)
                    count = self._file.readinto(part) or 0  # type: ignore[attr-defined]
            if not count:
                end = offset + len(out)
                raise Refused(
                    f"its data reaches to byte {end:,}, the file ends after {self.size:,}: it was cut short"
                )
            done += count

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes."""
        if hasattr(os, "pread") and size <= _MOST_AT_ONCE:
            data = os.pread(self._file.fileno(), size, offset)
            if len(data) == size:
                return data
        out = bytearray(size)
        self.fill(offset, memoryview(out))
        return bytes(out)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
