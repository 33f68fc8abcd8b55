"""Files of compiled CUDA kernels: written whole, checked when read, bounded in number of bytes. No Numba in here.

One file an entry, named after its key. A file begins with the SHA-256 of all that follows, so a damaged, cut or foreign
one is noticed and counts as absent. Writing goes to a temporary name first, so that two processes may write the same
entry at once. Nothing in here raises for what the file system does: a store that cannot be written keeps nothing.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.atomic_write import atomic_write
from engine.errors import FileWriteError

MOST_BYTES = 256 * 1024 * 1024
_SUFFIX = ".kernel"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class KeptKernel:
    """A compiled kernel: machine code for one kind of device, and the name that the kernel has in it."""

    cubin: bytes
    entry_name: str
    is_cooperative: bool = False


class KernelFiles:
    """The kernels kept in one folder.

    Parameters
    ----------
    folder : Path
        Made when the first kernel is kept.
    most_bytes : int
        What all files together may take; the least recently used ones go first.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def load(self, key: str) -> KeptKernel | None:
        """Return the kernel of that key; None where there is none, or none that can be trusted."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        kept = _unpacked(content, key)
        # Used now: what is used stays. A damaged entry would be read again at each start.
        with suppress(OSError):
            if kept is None:
                path.unlink()
            else:
                os.utime(path)
        return kept

    def save(self, key: str, kept: KeptKernel) -> None:
        """Keep a kernel; where it cannot be written, nothing is kept."""
        path = self._path(key)
        with suppress(OSError, FileWriteError):
            self._folder.mkdir(parents=True, exist_ok=True)
            atomic_write(path, _packed(key, kept))
            self._make_room(path)

    def remove(self, key: str) -> None:
        """Remove an entry that proved unusable."""
        with suppress(OSError):
            self._path(key).unlink()

    def _path(self, key: str) -> Path:
        return self._folder / (hashlib.sha256(key.encode()).hexdigest() + _SUFFIX)

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently used entries until all fit; another process may do the same."""
        files = []
        for path in self._folder.glob("*" + _SUFFIX):
            with suppress(OSError):
                facts = path.stat()
                files.append((path == newest, facts.st_mtime, facts.st_size, path))
        taken = sum(size for _, _, size, _ in files)
        for _, _, size, path in sorted(files):
            if taken <= self._most_bytes:
                return
            with suppress(OSError):
                path.unlink()
            taken -= size


def _packed(key: str, kept: KeptKernel) -> bytes:
    header = json.dumps(
        {"key": key, "entry_name": kept.entry_name, "is_cooperative": kept.is_cooperative},
        allow_nan=False,
    ).encode()
    body = len(header).to_bytes(_LENGTH_BYTES, "big") + header + kept.cubin
    return hashlib.sha256(body).digest() + body


def _unpacked(content: bytes, key: str) -> KeptKernel | None:
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if len(body) < _LENGTH_BYTES or hashlib.sha256(body).digest() != digest:
        return None
    begin = _LENGTH_BYTES + int.from_bytes(body[:_LENGTH_BYTES], "big")
    header: dict[str, Any] = json.loads(body[_LENGTH_BYTES:begin])
    if header["key"] != key:
        return None
    return KeptKernel(body[begin:], header["entry_name"], header["is_cooperative"])
