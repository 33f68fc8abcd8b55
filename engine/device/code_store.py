"""Files of compiled code, for the CPU and for CUDA: written whole, checked when read, bounded in bytes. No Numba in here.

One file per entry, named after its key. A file begins with the SHA-256 of all that follows, so a damaged, cut or foreign
one is noticed before anything of it is used, is removed and counts as absent. Writing goes to a temporary name first, so
that two processes may write the same entry at once.

What is read here is run, so the folder must be the person's own and nobody else may write in it. Nothing in here raises
for what the file system does: where nothing can be kept, the code is used all the same, and one `CodeNotKept` says so.
"""

import hashlib
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.errors import CodeNotKept, FileWriteError
from engine.files.atomic_write import atomic_write, write_error

MOST_BYTES = 256 * 1024 * 1024
_DIGEST_BYTES = 32
_LENGTH_BYTES = 4
_REMEDY = "Mend that, or name another folder in NUMBA_CACHE_DIR."


class CodeStore:
    """The compiled code kept in one folder.

    Parameters
    ----------
    folder : Path
        Made, for its owner alone, when the first code is kept.
    most_bytes : int
        What all files together may take; the least recently used ones go first.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._has_warned = False

    def load(self, kind: str, key: str) -> bytes | None:
        """Return the code of that key; None where there is none, or none that can be trusted.

        Parameters
        ----------
        kind : str
            "cpu" or "cuda": the extension of the file.
        key : str
        """
        if not self._is_trusted():
            return None
        path = self._path(kind, key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        code = _unpacked(content, key)
        # Used now: what is used stays. A damaged entry would be read again at each start.
        with suppress(OSError):
            if code is None:
                path.unlink()
            else:
                os.utime(path)
        return code

    def save(self, kind: str, key: str, code: bytes) -> None:
        """Keep compiled code; where it cannot be written, a warning says so."""
        path = self._path(kind, key)
        try:
            if not self._folder.is_absolute():
                raise FileWriteError("", "the home folder is not known")
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_trusted():
                atomic_write(path, _packed(key, code))
                self._make_room(path)
        except OSError as error:
            self._warn(write_error(str(self._folder), error).why)
        except FileWriteError as error:
            self._warn(error.why)

    def remove(self, kind: str, key: str) -> None:
        """Remove an entry that proved unusable."""
        with suppress(OSError):
            self._path(kind, key).unlink()

    def _path(self, kind: str, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.{kind}"

    def _is_trusted(self) -> bool:
        """Return whether the folder is there, is the person's own, and nobody else may write in it."""
        try:
            facts = self._folder.stat()
        except OSError:
            return False
        if not self._folder.is_absolute():
            return False
        # Windows has neither owners by number nor these permissions; a person's folders there are the person's.
        is_own = not hasattr(os, "getuid") or (
            facts.st_uid == os.geteuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        )
        if not is_own:
            self._warn(
                "it belongs to somebody else, or others may write in it",
                "Remove it: it is made again, for you alone.",
            )
        return is_own

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently used entries until all fit; another process may do the same."""
        files = []
        for path in self._folder.iterdir():
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

    def _warn(self, why: str, remedy: str = _REMEDY) -> None:
        if not self._has_warned:
            self._has_warned = True
            what = f"Compiled code cannot be kept in {self._folder}, so each start compiles it anew"
            warnings.warn(CodeNotKept(what, why, remedy), stacklevel=2)


@contextmanager
def report_code_not_kept(tell: Callable[[CodeNotKept], None]) -> Iterator[None]:
    """Tell a `CodeNotKept` that comes meanwhile to a function, in place of the lines that Python prints of a warning."""
    with warnings.catch_warnings():
        print_warning = warnings.showwarning

        def show(message: Warning | str, *facts: Any, **named: Any) -> None:
            if isinstance(message, CodeNotKept):
                tell(message)
            else:
                print_warning(message, *facts, **named)

        warnings.showwarning = show
        yield


def _packed(key: str, code: bytes) -> bytes:
    header = key.encode()
    body = len(header).to_bytes(_LENGTH_BYTES, "big") + header + code
    return hashlib.sha256(body).digest() + body


def _unpacked(content: bytes, key: str) -> bytes | None:
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    header = key.encode()
    expected = len(header).to_bytes(_LENGTH_BYTES, "big") + header
    if hashlib.sha256(body).digest() != digest or not body.startswith(expected):
        return None
    return body[len(expected) :]
