"""Compiled code on disk: written whole, checked when read, bounded in bytes. No Numba in here.

One file per entry, named after its key, begins with the SHA-256 of the rest: a damaged, cut or foreign one is
noticed before it is used, removed, and counts as absent. The code is executed, so the folder and each file
must be the user's own and writable by no other user. Where nothing can be kept, one `CodeNotKept` says so.

What a function compiles to depends on all that it calls, in any file: a folder named after a digest of
the sources, in the person's cache or in `NUMBA_CACHE_DIR`, makes a stale entry impossible.
"""

import errno
import functools
import hashlib
import os
import shutil
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from engine.errors import CodeNotKept, FileWriteError

T = TypeVar("T")

MOST_BYTES = 256 * 1024 * 1024
# For another process that compiles the same code: a window and a command that start together.
LONGEST_WAIT_S = 20.0
_LOOK_EVERY_S = 0.02
_DIGEST_BYTES = 32
# Not all of them exist on Windows.
_READING = os.O_RDONLY | sum(getattr(os, f"O_{name}", 0) for name in ("NOFOLLOW", "NONBLOCK", "BINARY"))
_REMEDY = "Mend that, or name another folder in NUMBA_CACHE_DIR."

_ENGINE = Path(__file__).parents[1]
# From the later ones compiled code has index rules and numbers, such as the sides of filters.
_COMPILED = ("compiled", "device", "variants", "geometry", "mask", "tasks", "work", "verify")
_UNUSED_AFTER_S = 30 * 24 * 3600.0


class CodeStore:
    """The compiled code in one folder, which is made, for its owner alone, when the first code is kept.

    All files together take at most `most_bytes`; the least recently used ones go first.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder, self._most_bytes, self._has_warned = folder, most_bytes, False
        # Once: it takes as long as reading an entry.
        self._is_way_own = functools.cache(lambda: _is_way_own(folder))

    def load(self, kind: str, key: str) -> bytes | None:
        """Return the code of that key; None where there is none that can be trusted.

        `kind` is "cpu" or "cuda", the extension of the file.
        """
        if not self._is_trusted():
            return None
        path = self._path(kind, key)
        try:
            content = self._own_bytes(path)
        except FileNotFoundError:
            return None
        except OSError:
            content = b""
        digest, body, head = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:], key.encode() + b"\0"
        is_whole = hashlib.sha256(body).digest() == digest and body.startswith(head)
        code = body[len(head) :] if is_whole else None
        # The time of its last use decides which entry goes. A damaged one would be read again at each start.
        with suppress(OSError):
            path.unlink() if code is None else os.utime(path)
        return code

    def save(self, kind: str, key: str, code: bytes) -> None:
        """Keep compiled code; where it cannot be written, a warning says so."""
        # Code is written once, and read at every start.
        from engine.files.atomic_write import atomic_write, write_error

        path = self._path(kind, key)
        try:
            if self._is_made():
                # Whatever the person's mask of permissions allows others.
                body = key.encode() + b"\0" + code
                atomic_write(path, hashlib.sha256(body).digest() + body, permissions=0o600)
                self._make_room(path)
        except OSError as error:
            self._warn(write_error(str(self._folder), error).why)
        except FileWriteError as error:
            self._warn(error.why)

    def built(self, kind: str, key: str, compile_now: Callable[[], bytes], build: Callable[[bytes], T]) -> T:
        """Return what `build` makes of the code of that key: kept code, else compiled now and kept."""
        # Any code that it cannot use is compiled again.
        with suppress(Exception):
            if (kept := self.load(kind, key)) is not None:
                return build(kept)
        with self._one_process(key) as has_waited:
            with suppress(Exception):
                if has_waited and (kept := self.load(kind, key)) is not None:
                    return build(kept)
            code = compile_now()
            self.save(kind, key, code)
        return build(code)

    @contextmanager
    def _one_process(self, key: str) -> Iterator[bool]:
        """Let one process at a time compile the code of a key; return whether another one did until now.

        It locks a byte of a file beside the folder: the system takes the lock from a process that ends.
        Where nothing can be locked, and after `LONGEST_WAIT_S`, each compiles for itself.
        """
        # Two keys in 2^28 have the same byte, and then wait for each other.
        byte = int(hashlib.sha256(key.encode()).hexdigest()[:7], 16)
        until = time.monotonic() + LONGEST_WAIT_S
        has_waited = False
        try:
            fcntl: Any = import_module("fcntl")
            if not self._is_made():
                raise PermissionError
            file = os.open(self._folder.parent / "lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        except (ImportError, OSError, FileWriteError):
            yield has_waited
            return
        try:
            while time.monotonic() < until:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                    break
                except OSError:
                    has_waited = True
                    time.sleep(_LOOK_EVERY_S)
            yield has_waited
        finally:
            os.close(file)

    def _path(self, kind: str, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.{kind}"

    def _own_bytes(self, path: Path) -> bytes:
        """Return the bytes of a file that the user alone can write; an OSError where it is anything else."""
        # A link is not followed, a pipe not waited for.
        with open(os.open(path, _READING), "rb", buffering=0) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > self._most_bytes or not _is_own(facts):
                raise PermissionError(errno.EPERM, "is no file of ours")
            return file.readall()

    def _is_made(self) -> bool:
        """Make the folder; return whether it is trusted."""
        if not self._folder.is_absolute():
            raise FileWriteError("", "the home folder is not known")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._is_trusted()

    def _is_trusted(self) -> bool:
        """Return whether the folder exists and is, with the way to it, the user's own and no other's."""
        try:
            is_own = _is_own(self._folder.stat()) and self._is_way_own()
        except OSError:
            return False
        if not self._folder.is_absolute():
            return False
        if not is_own:
            why = "it belongs to another user, others may write in it, or a link of another user leads to it"
            self._warn(why, "Remove it: it is made again, for you alone.")
        return is_own

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently used entries until all fit; another process may do the same."""
        files = []
        for path in self._folder.iterdir():
            with suppress(OSError):
                facts = path.lstat()
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
def report_code_not_kept(report: Callable[[CodeNotKept], None]) -> Iterator[None]:
    """Give a `CodeNotKept` that is raised within to a function, instead of Python's lines for a warning."""
    with warnings.catch_warnings():
        print_warning = warnings.showwarning

        def show(message: Warning | str, *facts: Any, **named: Any) -> None:
            if isinstance(message, CodeNotKept):
                report(message)
            else:
                print_warning(message, *facts, **named)

        warnings.showwarning = show
        yield


def _is_way_own(folder: Path) -> bool:
    """Return whether no link on the way to a folder is of another user than root."""
    entries = [os.lstat(path) for path in (folder, *folder.parents)]
    own = {0} if not hasattr(os, "geteuid") else {0, os.geteuid()}
    return all(not stat.S_ISLNK(path.st_mode) or path.st_uid in own for path in entries)


def _is_own(facts: os.stat_result) -> bool:
    # Windows has neither owners by number nor these permissions.
    return not hasattr(os, "geteuid") or (
        facts.st_uid == os.geteuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def source_digest() -> str:
    """Return a short digest of every source file that compiled code comes from."""
    sources = []
    for folder, folders, names in os.walk(_ENGINE):
        folders[:] = [name for name in folders if name != "__pycache__"]
        package = folder[len(str(_ENGINE)) + 1 :].partition(os.sep)[0]
        sources += [os.path.join(folder, name) for name in names if _is_compiled(package, name)]
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(os.path.basename(path).encode())
        with open(path, "rb", buffering=0) as file:
            digest.update(file.readall())
    return digest.hexdigest()[:16]


def _is_compiled(package: str, name: str) -> bool:
    return name.endswith(".py") and (package in _COMPILED or name.endswith("_code.py"))


@functools.cache
def code_store() -> CodeStore:
    """Return the store of this process's compiled code; its folder may not exist, nor be possible to make."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    own = Path(platformdirs.user_cache_dir("haloscope", appauthor=False)) / "compiled"
    folder = (Path(chosen).absolute() if chosen else own) / source_digest()
    try:
        os.utime(folder)
    except OSError:
        # The first start of this version: weeks of work on the sources leave 200 folders; each takes 1 ms.
        with suppress(OSError):
            for version in () if chosen else own.iterdir():
                if time.time() - version.stat().st_mtime > _UNUSED_AFTER_S:
                    shutil.rmtree(version, ignore_errors=True)
    return CodeStore(folder)
