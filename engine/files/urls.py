"""Files that are not on a disk of this machine: addresses such as s3://bucket/photo.png, opened by fsspec.

fsspec and its drivers are an extra; nothing of them is loaded before such an address is given. `file://` is
the plain path that it names.
"""

import glob
import os
import posixpath
import re
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast
from urllib.parse import unquote, urlsplit

from engine.errors import EngineError, FileWriteError
from engine.files.standard_streams import log

T = TypeVar("T")

# Two letters at least: one is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_PIECE_BYTES = 1 << 20
_LOOK_S, _WORD_S, _STALLED_S = 1.0, 5.0, 30.0
_LEAST_BYTES = 32 << 10
"""A web server that sends less in `_STALLED_S` is given up; after `_WORD_S` it is said who is waited for."""
# What is put there appears at once, or not at all; elsewhere a part is written and renamed.
_WHOLE_PUTS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "r2", "memory"})


def is_url(path: object) -> bool:
    """Return whether a path is the address of a file that fsspec opens."""
    found = _SCHEME.match(path) if isinstance(path, str) else None
    return found is not None and found[1].lower() != "file"


def local_path(path: str) -> str:
    """Return the plain path of an address that begins with file://; any other text as it is."""
    if path[:7].lower() != "file://":
        return path
    # As RFC 8089 has it: a host may be named, which is this one.
    return unquote(urlsplit(path).path)


def joined(folder: str, name: str) -> str:
    """Return the path, or the address, of a file in a folder."""
    if not is_url(folder):
        return os.path.join(folder, name)
    scheme, _, inside = folder.partition("://")
    return f"{scheme}://" + "/".join(filter(None, (inside.rstrip("/"), name.replace(os.sep, "/"))))


def parent(path: str) -> str:
    """Return the folder that a file is in."""
    if not is_url(path):
        return os.path.dirname(path) or "."
    scheme, _, inside = path.partition("://")
    return f"{scheme}://{inside.rpartition('/')[0]}"


def file_name(path: str) -> str:
    """Return the last part of a path or an address."""
    if not is_url(path):
        return os.path.basename(path)
    # What follows a ? asks a web server for more than the file.
    return posixpath.basename(unquote(urlsplit(path).path) if _is_web(path) else path)


def opened(url: str, max_bytes: int) -> BinaryIO:
    """Return a file with the bytes of an address, at most one more than allowed; its decoder may map it."""
    # A nameless one has a number for its name, which the decoder of TIFF does not take.
    file = tempfile.NamedTemporaryFile(delete=os.name != "posix")  # noqa: SIM115 - the caller closes it
    try:
        if os.name == "posix":
            os.unlink(file.name)
        with _in_words(f"{url} cannot be opened"):
            if _is_web(url):
                _watched(url, lambda go_on: _fetch(url, max_bytes, file, go_on), file.tell)
            else:
                _fetch(url, max_bytes, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return cast(BinaryIO, file)


def _fetch(url: str, max_bytes: int, file: Any, go_on: Callable[[], bool] = lambda: True) -> None:
    system, path = _system(url)
    # A web server sends it in one request, so what has come is seen as it comes.
    with system.open(path, "rb", **({"block_size": 0} if _is_web(url) else {})) as source:
        while go_on() and (data := source.read(min(_PIECE_BYTES, max_bytes + 1 - file.tell()))):
            file.write(data)


class _Stalled(TimeoutError):
    """A server sends nothing, or next to nothing; its text says which."""


def _watched(url: str, fetch: Callable[[Callable[[], bool]], T], come: Callable[[], int] = lambda: 0) -> T:
    """Fetch on a thread, which a server that says nothing may keep; raises `_Stalled` where it does.

    `come` returns how many bytes there are, `fetch` gets a function that returns whether to go on.
    """
    done: Future[T] = Future()
    given_up = threading.Event()

    def act() -> None:
        try:
            done.set_result(fetch(lambda: not given_up.is_set()))
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
            done.set_exception(error)

    threading.Thread(target=act, name="fetch", daemon=True).start()
    server, before, quiet_s, is_told = urlsplit(url).netloc.rpartition("@")[2], 0, 0.0, False
    while not wait([done], _LOOK_S).done:
        if (now := come()) - before >= _LEAST_BYTES:
            before, quiet_s = now, 0.0
        # Counted, as a clock goes on while this process is stopped.
        quiet_s += _LOOK_S
        if quiet_s >= _WORD_S and not is_told:
            is_told = True
            log(f"Waiting for {server}, {_STALLED_S:g} s at most.")
        if quiet_s >= _STALLED_S:
            given_up.set()
            sent = f"{now - before:,} bytes" if now > before else "nothing"
            raise _Stalled(f"{server} has sent {sent} in {_STALLED_S:g} s")
    return done.result()


def write(url: str, data: bytes | memoryview) -> None:
    """Write a file at an address so that it holds its old content or all of the new."""
    _refuse_web(url)
    with _in_words(f"{url} cannot be written", FileWriteError):
        system, path = _system(url)
        if _protocols(system) & _WHOLE_PUTS:
            system.pipe_file(path, bytes(data))
            return
        part = f"{path.rpartition('/')[0]}/{part_name()}"
        try:
            system.pipe_file(part, bytes(data))
            system.mv(part, path)
        except BaseException:
            with suppress(Exception):
                system.rm_file(part)
            raise


def check_place(url: str) -> None:
    """Refuse an address where no file can be written now; nothing is left there."""
    _refuse_web(url)
    probe = joined(parent(url), part_name())
    write(probe, b"")
    remove(probe)


def part_name() -> str:
    """Return a new name for a file that is not whole yet, or that is soon removed."""
    return f".haloscope-{secrets.token_hex(8)}.part"


def remove(url: str) -> None:
    """Remove a file at an address."""
    with _in_words(f"{url} cannot be removed", FileWriteError):
        system, path = _system(url)
        system.rm_file(path)


def exists(path: str) -> bool:
    """Return whether there is a file or a folder of a path or an address."""
    if not is_url(path):
        return os.path.lexists(path)
    with _in_words(f"{path} cannot be looked for"):
        system, inside = _system(path)
        return bool(system.exists(inside))


def content(path: str) -> bytes:
    """Return the bytes of a file, or at an address."""
    if not is_url(path):
        return Path(path).read_bytes()
    with _in_words(f"{path} cannot be opened"):
        system, inside = _system(path)
        return bytes(system.cat_file(inside))


def make_folder(url: str) -> None:
    """Make a folder at an address, if needed, with those around it."""
    _refuse_web(url)
    with _in_words(f"{url} cannot be written", FileWriteError):
        system, path = _system(url)
        system.makedirs(path, exist_ok=True)


def is_folder(url: str) -> bool:
    """Return whether an address is a folder. A web server is not asked: it has pages."""
    if _is_web(url):
        return url.endswith("/")
    with _in_words(f"{url} cannot be searched"):
        system, path = _system(url)
        return bool(system.isdir(path))


def files_in(url: str, *, recursive: bool) -> list[tuple[str, str]]:
    """Return the address of each file in a folder, and its name below the folder, in order."""
    with _in_words(f"{url} cannot be searched"):
        system, path = _system(url)

        def find() -> list[str]:
            return list(system.find(path, maxdepth=None if recursive else 1))

        found = _watched(url, lambda go_on: find()) if _is_web(url) else find()
        base = path.rstrip("/")
        return sorted((system.unstrip_protocol(one), one.removeprefix(base).lstrip("/")) for one in found)


def matches(url: str) -> list[str]:
    """Return the addresses that a pattern stands for."""
    with _in_words(f"{url} cannot be searched"):
        system, path = _system(url)
        return sorted(system.unstrip_protocol(one) for one in system.glob(path))


def is_pattern(url: str) -> bool:
    """Return whether an address stands for several files. A ? in a web address is no pattern."""
    return glob.has_magic(url) and not _is_web(url)


def _refuse_web(url: str) -> None:
    if _is_web(url):
        remedy = "Choose another folder."
        raise FileWriteError(f"{url} cannot be written", "a web address can only be read", remedy)


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    core = import_module("fsspec.core")
    how: dict[str, Any] = {}
    if _is_web(url):
        # The time that the driver gives to a whole file, 300 s, would end large ones.
        most_s = 2 * _STALLED_S
        timeout = import_module("aiohttp").ClientTimeout(total=None, sock_connect=most_s, sock_read=most_s)
        how = {"client_kwargs": {"timeout": timeout}}
    system, path = core.url_to_fs(url, **how)
    return system, str(path)


def _protocols(system: Any) -> frozenset[str]:
    names: str | Sequence[str] = system.protocol
    return frozenset((names,) if isinstance(names, str) else names)


@contextmanager
def _in_words(what: str, kind: type[EngineError] = EngineError) -> Iterator[None]:
    """Raise whatever a driver raises as an error in words."""
    try:
        yield
    except EngineError:
        raise
    except ImportError as error:
        missing = getattr(error.__cause__ or error, "name", None) or str(error)
        package = "'haloscope[cluster]'" if missing.partition(".")[0] == "fsspec" else missing
        why = f"the package {missing} is not installed"
        raise kind(what, why, f"Install it: python -m pip install {package}.") from error
    except NotImplementedError as error:
        raise kind(what, "this kind of address can only be read", "Choose another folder.") from error
    except Exception as error:
        # Each driver has errors of its own.
        raise kind(what, _cause(error), "Check the address, and that you may use it.") from error


def _cause(error: BaseException) -> str:
    below = error.__cause__ or error.__context__
    status = getattr(error, "status", None)  # of a web server
    if isinstance(error, FileNotFoundError) and below is not None:
        # So the driver of web addresses reports a server that does not answer.
        return _cause(below)
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return "there is no such file"
    if isinstance(error, PermissionError) or status in (401, 403):
        return "you may not use it"
    if isinstance(error, _Stalled):
        return str(error)
    if isinstance(error, TimeoutError):
        return "nothing answered in time"
    return " ".join(str(error).split()) or type(error).__name__
