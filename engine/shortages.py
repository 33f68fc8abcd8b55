"""What the system has run out of, in words: memory, open files, threads, processes. And limits too low."""

import errno
import sys
from collections.abc import Iterator

from engine.errors import EngineError

# What a loader of libraries, which has no number for it, says where memory or files are short.
_WORDS = {
    "failed to map segment": errno.ENOMEM,
    "cannot allocate memory": errno.ENOMEM,
    "too many open files": errno.EMFILE,
    "can't start new thread": errno.EAGAIN,
}


def shortage_of(error: BaseException) -> EngineError | None:
    """Return what was short where an error comes of that, or None: it is no fault of the program."""
    for one in _chain(error):
        if isinstance(one, MemoryError):
            return _short(errno.ENOMEM)
        if isinstance(one, OSError) and (found := _short(one.errno)) is not None:
            return found
        if isinstance(one, ImportError | OSError | RuntimeError):
            for words, number in _WORDS.items():
                if words in str(one).lower():
                    return _short(number)
    return None


def too_low_limit(what: str, files: int, memory_bytes: int) -> EngineError | None:
    """Return why something cannot be done that needs so many open files and so much memory, or None.

    Asked before it is begun: libraries in C end the process where they get no more of either.
    """
    most_files, most_bytes = _limit("RLIMIT_NOFILE"), _limit("RLIMIT_AS")
    if most_files is not None and most_files < files:
        why = f"this process may have {most_files} files open at a time, and {files} are needed"
        return EngineError(what, why, "Allow more (`ulimit -n 1024`) and start again.")
    if most_bytes is not None and most_bytes < memory_bytes:
        why = f"this process may use {_mb(most_bytes)} of memory, and {_mb(memory_bytes)} are needed"
        return EngineError(what, why, "Allow more (`ulimit -v unlimited`) and start again.")
    return None


def _short(number: int | None) -> EngineError | None:
    if number in (errno.EMFILE, errno.ENFILE):
        most = _limit("RLIMIT_NOFILE") if number == errno.EMFILE else None
        why = f"this process may have {most} open at a time" if most else "the system allows no more"
        return EngineError(
            "No more files can be opened", why, "Allow more (`ulimit -n 1024`) and start again."
        )
    if number == errno.ENOMEM:
        most = _limit("RLIMIT_AS")
        why = f"this process may use {_mb(most)} (`ulimit -v`)" if most else "the system gave no more"
        return EngineError("Not enough memory", why, "Use a smaller picture, or close other programs.")
    if number == errno.EAGAIN:
        why = "the system, or the limit of your user (`ulimit -u`), allows no more"
        return EngineError("No more threads or processes can be started", why, "Close other programs.")
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and what it comes of."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield error
        error = error.__cause__ or error.__context__


def _limit(name: str) -> int | None:
    """Return a limit of this process; None where there is none."""
    if sys.platform == "win32":
        return None
    try:
        import resource
    except (ImportError, OSError):  # its file cannot be opened either
        return None
    most, _ = resource.getrlimit(getattr(resource, name))
    return None if most == resource.RLIM_INFINITY else most


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.0f} MB"
