"""OUT.part: the folder in which a result grows, with a journal of what is done.

It never looks like a picture. A killed run leaves it, and the same command goes on from there; when the
result is whole, it takes its name in one step, and the folder is removed.
"""

import json
import os
import shutil
import zlib
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from engine.errors import FileReadError, FileWriteError
from engine.files.atomic_write import atomic_write, write_errors
from engine.files.reading import read_json
from engine.image.large.checked_file import PartDamaged
from engine.interrupts import undivided

_FORMAT, _VERSION = "haloscope-part", 2
_MOST_JOURNAL_BYTES = 1 << 20


class PartFolder:
    """The folder of a result that is being written; `result` is where it grows."""

    def __init__(self, output: str) -> None:
        self.output = Path(os.path.realpath(output))
        self.folder = self.output.with_name(f"{self.output.name}.part")
        self.result = self.folder / f"result{self.output.suffix.lower()}-unfinished"
        self._journal = self.folder / "journal.json"
        self._lock: BinaryIO | None = None

    def hold(self) -> None:
        """Keep other processes from the folder, if it is there; refuse one that another process has."""
        if not self.folder.is_dir() or not self._is_ours():
            return
        with write_errors(str(self.folder)):
            self._lock = (self.folder / "lock").open("ab")
        if find_spec("fcntl") is None:  # Windows: there an open file cannot be removed
            return
        fcntl = import_module("fcntl")
        try:
            fcntl.flock(self._lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.leave()
            raise FileWriteError(
                f"{self.output} cannot be written",
                f"another process writes it now, in {self.folder.name}",
                "Wait for it, stop it, or choose another name.",
            ) from error
        except OSError:
            pass  # a disk that knows no locks

    def leave(self) -> None:
        """Let other processes have the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def done_by(self, task: dict[str, Any]) -> dict[str, Any] | None:
        """Return what an earlier run of the same task has done; None where there is none.

        Raises PartDamaged: the journal is not what was written.
        """
        if not self._journal.exists():
            return None
        try:
            document = read_json(self._journal, _MOST_JOURNAL_BYTES)
        except FileReadError as error:
            raise PartDamaged(f"{self._journal.name} cannot be read") from error
        is_whole = document.pop("crc32", None) == _checksum(document)
        if not is_whole:
            raise PartDamaged(f"{self._journal.name} has other bytes")
        known = (document.get("format"), document.get("version"), document.get("task"))
        return dict(document["done"]) if known == (_FORMAT, _VERSION, task) else None

    def begin(self) -> bool:
        """Make the folder anew; return whether there was one, which is lost."""
        with write_errors(str(self.folder)):
            was_there = self.folder.exists()
            if was_there and not self._is_ours():
                raise FileWriteError(
                    f"{self.folder} cannot be written",
                    "it is there already, and is no folder that an earlier run has left",
                    "Give it another name, or choose another one for the result.",
                )
            if was_there:
                shutil.rmtree(self.folder)
            self.folder.mkdir()
        self.leave()
        self.hold()
        return was_there

    def _is_ours(self) -> bool:
        names = set(os.listdir(self.folder)) if self.folder.is_dir() else {""}
        return all(
            name in ("journal.json", "lock") or name.startswith(("result", "level-", ".haloscope-"))
            for name in names
        )

    def note(self, task: dict[str, Any], done: dict[str, Any]) -> None:
        """Write down what is done, in one step."""
        document = {"format": _FORMAT, "version": _VERSION, "task": task, "done": done}
        document["crc32"] = _checksum(document)
        atomic_write(self._journal, (json.dumps(document, allow_nan=False, indent=1) + "\n").encode())

    def finish(self) -> None:
        """Give the result its name, in place of a file or a store of that name, and remove the folder."""
        with write_errors(str(self.output)), undivided():
            if self.output.is_dir():
                # A folder is not replaced in one step: the old one is moved away first.
                old = self.folder / "result-before"
                os.rename(self.output, old)
            os.replace(self.result, self.output)
            self.remove()

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        self.leave()
        with suppress(OSError):
            shutil.rmtree(self.folder)

    def free_bytes(self) -> int:
        """Return how many bytes its disk has room for."""
        return shutil.disk_usage(self.output.parent).free


def _checksum(document: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(document, allow_nan=False, sort_keys=True).encode())
