"""A picture that is written in parts, from top to bottom, level after level: its files, and their journal."""

import io
import json
import math
import os
import re
import shutil
import stat
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine.errors import FileReadError, FileWriteError
from engine.files.atomic_write import atomic_write, lock, write_errors
from engine.files.reading import Json, read_json
from engine.image.convert import halved, halved_sides
from engine.image.large.source import Storage
from engine.interrupts import undivided


class LargeResult(ABC):
    """A result under way, in the files of a folder: new ones, or what an earlier run has left.

    `levels` has rows and columns of each. Raises PartDamaged where a file is not what it was; of a damaged
    store also what its library raises.
    """

    def __init__(self, part: "PartFolder", storage: Storage, shape: tuple[int, ...], dtype: np.dtype) -> None:
        height, width, self.channels = shape
        self.storage, self.dtype = storage, dtype
        rows, columns = storage.smallest or (math.inf, math.inf)
        self.levels = halved_sides(height, width, (1.5 * rows, 1.5 * columns))
        self._open(part)

    @abstractmethod
    def _open(self, part: "PartFolder") -> None:
        """Open or begin its files."""

    @abstractmethod
    def write(self, level: int, top: int, rows: np.ndarray) -> None:
        """Write rows (rows, columns of the level, channels): `rows_at_once`, or those that are left."""

    @abstractmethod
    def finish(self) -> None:
        """Write what makes it a picture, to the disk."""

    def sync(self) -> None:  # noqa: B027 - most have their files from the folder of the result
        """Bring to the disk what was written beside the files of its folder."""

    def close(self) -> None:  # noqa: B027
        """Stop its threads."""


_BLOCK_BYTES = 4 << 20


class PartDamaged(Exception):
    """What an earlier run has left is not what its journal says; the text says which part of it."""


class CheckedFile:
    """A file that is made, or one that an earlier run has left; without a path it is in memory.

    Raises PartDamaged where it does not hold what its `state` says.
    """

    def __init__(self, path: Path | None = None, state: Json | None = None) -> None:
        self.byte_count, self._checksum = 0, 0
        if path is not None and state is not None:
            self.byte_count, self._checksum = int(state["bytes"]), int(state["crc32"])
            check_file(path, self.byte_count, self._checksum)
        self._file: Any = io.BytesIO() if path is None else path.open("r+b" if state else "w+b")
        # What came after its state was written down is lost.
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
        data: bytes = self._file.read(count)
        self._file.seek(self.byte_count)
        return data

    def content(self) -> bytes:
        """Return all of it; of one in memory without a copy."""
        is_in_memory = isinstance(self._file, io.BytesIO)
        return self._file.getvalue() if is_in_memory else self.read(0, self.byte_count)

    def finish(self, head: bytes) -> None:
        """Replace the first bytes, by which a program knows it, once all others are on the disk."""
        self.state()
        self._file.seek(0)
        self._file.write(head)
        self.state()

    def state(self) -> Json:
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
    crc, left = 0, byte_count
    # Another kind of file may have no end, or wait for a writer.
    if path.is_symlink() or not stat.S_ISREG(path.stat().st_mode):
        raise PartDamaged(f"{path.name} is no file")
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
            crc, left = zlib.crc32(block, crc), left - len(block)
    if left > 0:
        raise PartDamaged(f"{path.name} is shorter than it was")
    if crc != checksum:
        raise PartDamaged(f"{path.name} has other bytes")


class LevelRows:
    """The rows of a level, which come in order: written in units, and halved for the next level.

    Their halves wait in a file until the level is written: no more than a unit is in memory. `top` is the
    first row that is still to come.
    """

    def __init__(self, result: LargeResult, part: "PartFolder", level: int = 0, top: int = 0) -> None:
        self._result, self._part, self._level, self._top = result, part, level, top
        self._height, width = result.levels[level]
        unit = min(result.storage.rows_at_once, self._height), width, result.channels
        self._unit, self._filled = np.empty(unit, result.dtype), 0
        self._next = f"level-{level + 1}"
        self._halves = part.file(self._next) if level + 1 < len(result.levels) else None

    def add(self, rows: np.ndarray, then: Callable[[int], None] = lambda rows: None) -> None:
        """Add rows; `then` is called after each unit, with the number of rows that are written."""
        while len(rows):
            wanted = min(len(self._unit), self._height - self._top) - self._filled
            part, rows = rows[:wanted], rows[wanted:]
            self._unit[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            if len(part) == wanted:
                unit = self._unit[: self._filled]
                self._result.write(self._level, self._top, unit)
                if self._halves is not None:
                    self._halves.append(np.ascontiguousarray(halved(unit)).reshape(-1).view(np.uint8))
                self._top, self._filled = self._top + self._filled, 0
                then(self._top)

    def next_level(self) -> "LevelRows":
        """Write the next level, of the halves of all rows of this one, and return it."""
        assert self._halves is not None
        level = LevelRows(self._result, self._part, self._level + 1)
        row = level._unit[0]
        for top in range(0, level._height, len(level._unit)):
            count = min(len(level._unit), level._height - top)
            data = self._halves.read(top * row.nbytes, count * row.nbytes)
            level.add(np.frombuffer(data, row.dtype).reshape(count, *row.shape))
        self._part.close(self._next)
        return level


_FORMAT, _VERSION = "haloscope-part", 3
_MOST_JOURNAL_BYTES = 1 << 20
_OURS = re.compile(r"journal\.json|lock|(result|level-|\.haloscope-).*", re.DOTALL)


class PartFolder:
    """OUT.part: the folder in which a result grows (`result`), with a journal of its files and what is done.

    It never looks like a picture. A killed run leaves it, and the same command goes on from there; when the
    result is whole, it takes its name in one step, and the folder is removed.
    """

    def __init__(self, output: str) -> None:
        self.output = Path(os.path.realpath(output))
        self.folder = self.output.with_name(f"{self.output.name}.part")
        self.result = self.folder / f"result{self.output.suffix.lower()}-unfinished"
        self._journal = self.folder / "journal.json"
        self._lock: BinaryIO | None = None
        # Those that are open, and the states of those that the journal names.
        self._files: dict[str, CheckedFile] = {}
        self._known: Json = {}

    def file(self, name: str = "") -> CheckedFile:
        """Open a file in it, or the result: a new one, or what an earlier run left; raises PartDamaged."""
        name = name or self.result.name
        self._files[name] = CheckedFile(self.folder / name, self._known.get(name))
        return self._files[name]

    def close(self, *names: str) -> None:
        """Close files that are not needed any more."""
        for name in names:
            self._files.pop(name).close()

    def hold(self) -> None:
        """Keep other processes from the folder, if it is there; refuse one that another process has."""
        if not self._is_ours():
            return
        with write_errors(str(self.folder)):
            self._lock = (self.folder / "lock").open("ab")
        if lock(self._lock.fileno(), wait=False) is False:
            self.leave()
            why = f"another process writes it now, in {self.folder.name}"
            remedy = "Wait for it, stop it, or choose another name."
            raise FileWriteError(f"{self.output} cannot be written", why, remedy)

    def leave(self) -> None:
        """Close its files, and let other processes have it."""
        self.close(*self._files)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def done_by(self, task: Json) -> Json | None:
        """Return what an earlier run of the same task has done; None where there is none.

        Raises PartDamaged: the journal is not what was written.
        """
        if not self._journal.exists():
            return None
        try:
            document = read_json(self._journal, _MOST_JOURNAL_BYTES)
        except FileReadError as error:
            raise PartDamaged(f"{self._journal.name} cannot be read") from error
        if document.pop("crc32", None) != _checksum(document):
            raise PartDamaged(f"{self._journal.name} has other bytes")
        if [document.get(key) for key in ("format", "version", "task")] != [_FORMAT, _VERSION, task]:
            return None
        self._known = document["files"]
        return dict(document["done"])

    def begin(self) -> bool:
        """Make the folder anew; return whether there was one, which is lost."""
        self.close(*self._files)
        self._known = {}
        with write_errors(str(self.folder)):
            was_there = self.folder.exists()
            if was_there and not self._is_ours():
                why = "it is there already, and is no folder that an earlier run has left"
                remedy = "Give it another name, or choose another one for the result."
                raise FileWriteError(f"{self.folder} cannot be written", why, remedy)
            if was_there:
                shutil.rmtree(self.folder)
            self.folder.mkdir()
        self.leave()
        self.hold()
        return was_there

    def _is_ours(self) -> bool:
        return self.folder.is_dir() and all(map(_OURS.fullmatch, os.listdir(self.folder)))

    def note(self, task: Json, done: Json) -> None:
        """Write down what is done, in one step, once its files are on the disk."""
        files = {name: file.state() for name, file in self._files.items()}
        document = {"format": _FORMAT, "version": _VERSION, "task": task, "files": files, "done": done}
        document["crc32"] = _checksum(document)
        atomic_write(self._journal, (json.dumps(document, allow_nan=False, indent=1) + "\n").encode())

    def finish(self) -> None:
        """Give the result its name, in place of a file or a store of that name, and remove the folder."""
        self.close(*self._files)
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


def _checksum(document: Json) -> int:
    return zlib.crc32(json.dumps(document, allow_nan=False, sort_keys=True).encode())
