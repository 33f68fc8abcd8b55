"""Standard output and standard error where somebody closed them, or stopped reading: no traceback, an exit status that tells."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

CANNOT_PRINT = 2
# What shells report of a program that SIGPIPE ended.
PIPE_CLOSED = 141


def open_closed_streams() -> None:
    """Put something in the place of a closed standard stream, or the next file that is opened gets its number.

    Writing to a closed standard output fails all the same, because an answer that nobody gets is an error. What is
    said on a closed standard error is lost.
    """
    for number, name, flags in (
        (0, "stdin", os.O_RDONLY),
        (1, "stdout", os.O_RDONLY),
        (2, "stderr", os.O_WRONLY),
    ):
        if getattr(sys, name) is None and not _is_open(number):
            descriptor = os.open(os.devnull, flags)
            # The engine's process inherits it.
            os.dup2(descriptor, number)
            if descriptor != number:
                os.close(descriptor)
            os.set_inheritable(number, True)
            stream = open(number, "w" if number else "r", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
            setattr(sys, name, stream)


def tell(line: str) -> None:
    """Say a line on standard error; where nobody can hear it, that changes nothing."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def say(text: str) -> int:
    """Print an answer on standard output and return the exit status; where it cannot be printed, a line says why."""
    return _sent(lambda: sys.stdout.write(f"{text}\n"), 0)


def flushed(status: int) -> int:
    """Return the exit status after what was printed is on its way; Python would complain of it at the very end."""
    return _sent(lambda: None, status)


def _sent(write: Callable[[], object], status: int) -> int:
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has enough.
        status = PIPE_CLOSED
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        tell(f"The answer cannot be printed: {why}. Send it to another place.")
        status = status or CANNOT_PRINT
    else:
        return status
    silence(sys.stdout)
    return status


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def silence(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, so that its failure is reported once."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
