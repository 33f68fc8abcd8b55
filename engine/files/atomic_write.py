"""Writing a file whole or not at all, and what killed processes left of their temporary files and folders.

Each temporary file beside one that is being written is locked (flock) by the process that writes it. The
system drops the lock with the process, so a part that can be locked is abandoned; process ids would not do,
as they differ between containers. Network folders may not show the locks of other machines, so the name has
the machine and its boot; parts of others are kept until they are a day old.
"""

import errno
import os
import re
import reprlib
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import FileIO
from pathlib import Path
from shutil import rmtree
from typing import IO, Any, TypeVar

from engine.errors import BadValue, FileWriteError
from engine.interrupts import undivided

# Windows has none: there an open file cannot be removed.
fcntl: Any = None
with suppress(ImportError):
    fcntl = import_module("fcntl")

_CHOOSE_ANOTHER, _GIVE_PATH = "Choose another folder or name.", "Give it as text or as a pathlib.Path."
# Two letters at least: one is a drive of Windows.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

# The cause and the remedy of each error number of the operating system.
_REASONS: dict[int, tuple[str, str]] = {
    errno.ENOENT: ("its folder does not exist", "Create the folder first, or choose another one."),
    errno.ENOTDIR: ("part of its path is a file, not a folder", _CHOOSE_ANOTHER),
    errno.EEXIST: ("a file, or a link that leads nowhere, has its name", _CHOOSE_ANOTHER),
    errno.EACCES: ("you may not write in that folder", "Choose another folder or change its permissions."),
    errno.EPERM: ("you may not write in that folder", "Choose another folder or change its permissions."),
    errno.EROFS: ("the disk can only be read", "Choose another folder."),
    errno.ENOSPC: ("the disk is full", "Free some space or choose another disk."),
    errno.EDQUOT: ("your share of the disk is used up", "Free some space or choose another disk."),
    errno.EFBIG: ("it is larger than this disk allows a file to be", "Choose another disk."),
    errno.ELOOP: ("it is a loop of symbolic links", _CHOOSE_ANOTHER),
    errno.EISDIR: ("it is a folder", "Add a file name."),
    errno.ENAMETOOLONG: ("its name is too long", "Choose a shorter name."),
}


FilePath = str | os.PathLike[str]


def path_text(path: FilePath) -> str:
    """Return a path as text; a `BadValue` says that it is none."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise BadValue(f"{reprlib.repr(path)} is not a path", "a file has a name", _GIVE_PATH)
    if not text:
        # It would be the folder that one is in.
        raise BadValue("'' is not a path", "it is empty", "Give the name of a file.")
    if _ADDRESS.match(text):
        remedy = "Download a picture first and give its path; upload a result afterwards."
        raise BadValue(f"{text} is not a path", "files are read from and written to disks", remedy)
    return text


def atomic_write(path: FilePath, data: bytes | memoryview, permissions: int | None = None) -> None:
    """Write `data` to `path` so that the file holds either its old content or all of the new.

    The bytes go to a temporary file in the same folder, reach the disk, and then take the name in one step.
    A failure or a kill at any moment leaves the old file as it was. A symbolic link stays a link: the file
    that it points to is replaced. Without `permissions` those of a replaced file are kept, and a new one has
    the usual ones.

    Raises FileWriteError: the folder does not exist or cannot be written, the disk is full, `path` is a
    folder, and the like.
    """
    path = path_text(path)
    with write_errors(path), undivided():
        target = writable_target(path)
        remove_dead_parts(target.parent)
        file = part_file(target.parent)
        try:
            # It stays open, and so locked, until it has its name.
            with file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                if os.name != "posix":
                    file.close()  # an open file cannot be renamed there
                if permissions is None and target.exists():
                    permissions = stat.S_IMODE(target.stat().st_mode)
                elif permissions is None:
                    # The mask can only be read by setting it; 0o022 is restored at once.
                    mask = os.umask(0o022)
                    os.umask(mask)
                    permissions = 0o666 & ~mask
                # A temporary file can only be read by its owner.
                os.chmod(file.name, permissions)
                os.replace(file.name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(file.name)
            raise
        # The new name shall survive a power failure; not every system can, and the file is safe already.
        with suppress(OSError):
            descriptor = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def writable_target(path: FilePath) -> Path:
    """Return the file that a path leads to, if a file may be written there.

    Raises FileWriteError, OSError, ValueError: it is a folder, a loop of links, a device or a protected file;
    no possible path.
    """
    path = path_text(path)
    # A link is followed, as every other program does that saves over it.
    target = Path(os.path.realpath(path))
    # Raises for a name that is too long: since Python 3.14 `is_dir` and `exists` only say no.
    with suppress(FileNotFoundError, NotADirectoryError):
        target.lstat()
    if not os.path.basename(path) or target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if target.is_symlink():  # still a link after all were followed: they lead in a circle
        raise OSError(errno.ELOOP, "is a loop")
    # Not the target: that of /dev/stdout, where it is a pipe, is not a path.
    if os.path.exists(path) and not os.path.isfile(path):
        raise FileWriteError(f"{path} cannot be written", "it is a device, not a file", _CHOOSE_ANOTHER)
    if target.exists() and not os.access(target, os.W_OK):
        # Replacing needs only the permissions of the folder; a protected file must stay.
        raise FileWriteError(f"{path} cannot be written", "the file is write-protected", _CHOOSE_ANOTHER)
    return target


@contextmanager
def write_errors(path: FilePath) -> Iterator[None]:
    """Translate errors of the operating system into `FileWriteError`."""
    try:
        yield
    except OSError as error:
        raise write_error(os.fspath(path), error) from error
    except ValueError as error:  # a NUL in the path
        why = "it is not a possible path"
        raise FileWriteError(f"{path!r} cannot be written", why, _CHOOSE_ANOTHER) from error


def write_error(path: str, error: OSError) -> FileWriteError:
    """Return an error of the operating system, met while writing to `path`, in plain words."""
    why, remedy = _REASONS.get(error.errno or 0, (error.strerror or str(error), _CHOOSE_ANOTHER))
    return FileWriteError(f"{path} cannot be written", why, remedy)


def check_place(path: str) -> None:
    """Refuse a path where no file can be written now; nothing is left there.

    Raises FileWriteError: the folder does not exist or cannot be written, or the path is a folder, a device
    or a protected file.
    """
    # Permissions alone do not show that a disk is read-only.
    with write_errors(path), tempfile.TemporaryFile(dir=writable_target(path).parent):
        pass


def make_folder(folder: str, *, with_parents: bool = False) -> None:
    """Make a folder, if needed, in one that exists, or with those around it; raises FileWriteError."""
    with write_errors(path_text(folder)):
        if with_parents:
            os.makedirs(folder, exist_ok=True)
        elif not os.path.isdir(folder):
            os.mkdir(folder)


def check_other_file(
    output: str, source: str, remedy: str = "Give the result another name.", *, what: str = "picture"
) -> None:
    """Raise BadValue instead of writing a result over its own picture, under any name.

    `what` says in the error what the source is where it is no picture.
    """
    # Where one of them is not there, opening it says so.
    with suppress(OSError, ValueError):
        if os.path.samefile(output, source):
            raise BadValue(f"{output} is the {what} itself", "its result would replace it", remedy)


_PREFIX, _SUFFIX = ".haloscope-", ".part"
_OLD_S = 24 * 3600.0

# Each folder is looked through once: a batch may write thousands of files into one.
_looked_at: set[Path] = set()


F = TypeVar("F", bound=IO[bytes])


def _locked(make: Callable[[], F]) -> F:
    """Return a new file, which is locked."""
    while True:
        file = make()
        lock(file.fileno(), wait=True)
        # Another process may have found it in the moment before it was locked, and removed it.
        if os.name != "posix" or os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def part_file(folder: Path) -> IO[bytes]:
    """Create a locked temporary file that only its owner can read; `name` is its path."""
    prefix = f"{_PREFIX}{_machine()}-{os.getpid()}-"
    return _locked(
        lambda: tempfile.NamedTemporaryFile(suffix=_SUFFIX, prefix=prefix, dir=folder, delete=False)
    )


def remove_dead_parts(folder: Path) -> None:
    """Remove what killed processes left in a folder, once per process; what cannot be removed stays."""
    if folder in _looked_at:
        return
    _looked_at.add(folder)
    is_of_this_machine = f"{_PREFIX}{_machine()}-"

    def remove_if_dead(path: str, about: os.stat_result) -> None:
        is_ours = os.path.basename(path).startswith(is_of_this_machine)
        if not stat.S_ISREG(about.st_mode) or (not is_ours and time.time() - about.st_mtime < _OLD_S):
            return
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if lock(descriptor, wait=False) or fcntl is None:
                os.unlink(path)
        finally:
            os.close(descriptor)

    _each_in(folder, re.escape(_PREFIX) + ".*" + re.escape(_SUFFIX), remove_if_dead)


def _each_in(folder: Path | str, names: str, act: Callable[[str, os.stat_result], None]) -> None:
    """Call `act` with what has such a name in a folder, and what it is; where that fails, it stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if re.fullmatch(names, entry.name, re.DOTALL):
                with suppress(OSError):
                    act(entry.path, entry.stat(follow_symlinks=False))


def lock(descriptor: int, *, wait: bool) -> bool | None:
    """Lock a file; return whether it is. None: its folder knows no locks, and is written to all the same."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return True
    except OSError as error:
        return False if isinstance(error, BlockingIOError) else None


def _machine() -> str:
    """Return a word for this start of this machine, the same in all of its containers."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        # Loaded in 4 ms, and not on Linux.
        start = import_module("uuid").getnode().to_bytes(6, "big")
    return f"{zlib.crc32(start):08x}"


_HELD = "held"
_MOST_BYTES = 1 << 16


class HeldFolder:
    """A new folder in the system's folder for temporary ones, this process's until `remove`.

    `lines` say what has to be removed where this process is killed.
    """

    def __init__(self, prefix: str, *lines: str) -> None:
        def made() -> FileIO:
            self.path = tempfile.mkdtemp(prefix=prefix)
            return open(Path(self.path, _HELD), "xb", buffering=0)

        self._file = _locked(made)
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def remove(self) -> None:
        """Remove it with all that is in it."""
        rmtree(self.path, ignore_errors=True)
        self._file.close()


def remove_dead_folders(prefix: str, on_dead: Callable[[Sequence[str]], object]) -> None:
    """Remove this user's folders that no process holds; `on_dead` gets the lines of each.

    What cannot be removed stays. Where files have no locks, nothing is removed.
    """

    def remove_if_dead(path: str, about: os.stat_result) -> None:
        # Anybody may make folders there; the one of this user can be written to by nobody else.
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
            return
        with open(Path(path, _HELD), "rb") as file:
            if lock(file.fileno(), wait=False):
                on_dead(file.read(_MOST_BYTES).decode("utf-8", "replace").splitlines())
                rmtree(path, ignore_errors=True)

    _each_in(tempfile.gettempdir(), re.escape(prefix) + r"\w+", remove_if_dead)
