"""Ctrl+C in a command that writes files: one line says what was done by then, and which files were written."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def report_interrupt(files: Sequence[str], done: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Raise a KeyboardInterrupt from within with the line that `engine.commands.main` prints.

    Parameters
    ----------
    files : sequence of str
        What is written within, each whole or not at all.
    done : callable of () -> str
        Half a sentence on what was done by then: "3 of 18 cells done".

    Raises
    ------
    KeyboardInterrupt
    """
    before = [_version(path) for path in files]
    try:
        yield
    except KeyboardInterrupt:
        # Ctrl+C may come after a file took its name and before the command knows of it.
        said = done()
        parts = [said] if said else []
        for path, old in zip(files, before, strict=True):
            parts.append(f"{path} was {'not ' if _version(path) == old else ''}written")
        raise KeyboardInterrupt(f"Stopped: {'; '.join(parts)}.") from None


def _version(path: str) -> tuple[int, int] | None:
    """Return what tells one content of a file from the next, which takes its place as another file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns
