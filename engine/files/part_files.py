"""Temporary files beside the ones that are being written, and what a killed process left of them.

Each is locked (flock) by the process that writes it. The system drops the lock with the process, so a part
that can be locked is abandoned; process ids would not do, as they differ between containers. Network folders
may not show the locks of other machines, so the name has the machine and its boot; parts of others are kept
until they are a day old.
"""

import contextlib
import importlib.util
import os
import re
import secrets
import stat
import tempfile
import time
import uuid
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import BinaryIO

# Windows has none: there an open file cannot be removed.
_HAS_LOCKS = importlib.util.find_spec("fcntl") is not None

_PREFIX, _SUFFIX = ".haloscope-", ".part"
_OLD_S = 24 * 3600.0

# Each folder is looked through once: a batch may write thousands of files into one.
_looked_at: set[Path] = set()


def part_file(folder: Path) -> BinaryIO:
    """Create a locked temporary file that only its owner can read; `name` is its path."""
    while True:
        path = folder / f"{_PREFIX}{_machine()}-{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        try:
            file = open(path, "xb", opener=_private)  # noqa: SIM115
        except FileExistsError:
            continue
        lock(file.fileno(), wait=True)
        # Another process may have found it in the moment before it was locked, and removed it.
        if os.name != "posix" or os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def remove_dead_parts(folder: Path) -> None:
    """Remove what killed processes left in a folder, once per process; what cannot be removed stays."""
    if folder in _looked_at:
        return
    _looked_at.add(folder)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                with contextlib.suppress(OSError):
                    _remove_if_dead(entry)


def _remove_if_dead(entry: "os.DirEntry[str]") -> None:
    if not entry.is_file(follow_symlinks=False):
        return
    is_ours = entry.name.startswith(f"{_PREFIX}{_machine()}-")
    if not is_ours and time.time() - entry.stat(follow_symlinks=False).st_mtime < _OLD_S:
        return
    descriptor = os.open(entry.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if lock(descriptor, wait=False) or not _HAS_LOCKS:
            os.unlink(entry.path)
    finally:
        os.close(descriptor)


def lock(descriptor: int, *, wait: bool) -> bool | None:
    """Lock a file; return whether it is. None: its folder knows no locks, and is written to all the same."""
    if not _HAS_LOCKS:
        return None
    # Windows has none.
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _machine() -> str:
    """Return a word for this start of this machine, the same in all of its containers."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        start = uuid.getnode().to_bytes(6, "big")
    return f"{zlib.crc32(start):08x}"


_HELD = "held"
_MOST_BYTES = 1 << 16


class HeldFolder:
    """A new folder in the system's folder for temporary ones, this process's until `remove`."""

    def __init__(self, prefix: str) -> None:
        while True:
            self.path = tempfile.mkdtemp(prefix=prefix)
            self._file = open(Path(self.path, _HELD), "xb", buffering=0)  # noqa: SIM115 - until `remove`
            lock(self._file.fileno(), wait=True)
            # Another process may have found it in the moment before it was locked, and removed it.
            if os.name != "posix" or os.fstat(self._file.fileno()).st_nlink:
                return
            self._file.close()

    def note(self, line: str) -> None:
        """Note what has to be removed where this process is killed."""
        self._file.write(f"{line}\n".encode())

    def remove(self) -> None:
        """Remove it with all that is in it."""
        rmtree(self.path, ignore_errors=True)
        self._file.close()


def remove_dead_folders(prefix: str, on_dead: Callable[[Sequence[str]], object]) -> None:
    """Remove this user's folders that no process holds; `on_dead` gets the lines that each has noted.

    What cannot be removed stays. Where files have no locks, nothing is removed.
    """
    is_ours = re.compile(re.escape(prefix) + r"\w+")
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if is_ours.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_folder_if_dead(entry, on_dead)


def _remove_folder_if_dead(entry: "os.DirEntry[str]", on_dead: Callable[[Sequence[str]], object]) -> None:
    # Anybody may make folders there; the one of this user can be written to by nobody else.
    about = entry.stat(follow_symlinks=False)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        return
    with open(Path(entry.path, _HELD), "rb") as file:
        if lock(file.fileno(), wait=False):
            on_dead(file.read(_MOST_BYTES).decode("utf-8", "replace").splitlines())
            rmtree(entry.path, ignore_errors=True)
