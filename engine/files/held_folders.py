"""Temporary folders that a process holds by a locked file, so that what a killed one left can be removed.

The system drops the lock with the process (`engine.files.part_files`). The file has lines about what else the
process has made and cannot remove when it is killed.
"""

import os
import re
import stat
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from engine.files.part_files import lock

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
                    _remove_if_dead(entry, on_dead)


def _remove_if_dead(entry: "os.DirEntry[str]", on_dead: Callable[[Sequence[str]], object]) -> None:
    # Anybody may make folders there; the one of this user can be written to by nobody else.
    about = entry.stat(follow_symlinks=False)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        return
    with open(Path(entry.path, _HELD), "rb") as file:
        if lock(file.fileno(), wait=False):
            on_dead(file.read(_MOST_BYTES).decode("utf-8", "replace").splitlines())
            rmtree(entry.path, ignore_errors=True)
