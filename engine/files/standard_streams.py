"""Standard streams: answers alone on the output; closed ones, or without a reader, are an exit status."""

import atexit
import faulthandler
import os
import re
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TextIO

# Beside the control characters, those that turn the direction of what is printed after them.
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")

_answers: TextIO | None = None

CANNOT_PRINT = 2
# What shells report of a program that SIGPIPE ended.
PIPE_CLOSED = 141


def open_closed_streams() -> None:
    """Open closed standard streams, or the next file that is opened gets their number.

    Writing to a closed standard output still fails, because a lost answer is an error. What is written to a
    closed standard error is lost.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            descriptor = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
            # The engine's process inherits it.
            os.dup2(descriptor, number)
            if descriptor != number:
                os.close(descriptor)
            os.set_inheritable(number, True)
            stream = open(number, "w" if number else "r", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
            setattr(sys, name, stream)


def set_output_aside() -> int:
    """Return a new descriptor of standard output; what is written to number 1 from now on goes to the errors.

    Libraries print there, in C too, and what C keeps in a buffer is written at the end of the process.
    """
    kept = os.dup(1)
    # Where standard error is closed, there is nowhere to send it.
    with suppress(OSError):
        os.dup2(2, 1)
    return kept


def keep_answers_alone() -> None:
    """Let nothing but answers reach standard output, until this process ends."""
    global _answers
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    _answers = open(set_output_aside(), "w", encoding=encoding, errors=errors)  # noqa: SIM115
    sys.stdout = sys.stderr


def answers() -> TextIO:
    """Return the stream that answers are printed on."""
    return _answers or sys.stdout


def log(line: str) -> None:
    """Write a line to standard error, if it is open."""
    try:
        pass_on(f"{line}\n", sys.stderr)
    except OSError:
        silence(sys.stderr)


def print_answer(text: str) -> int:
    """Print an answer and return the exit status; where it cannot be printed, a line says why."""
    return flushed(0, f"{text}\n")


def pass_on(text: str, stream: TextIO) -> None:
    """Write lines as text that does nothing else, with backslashes for what the stream's encoding lacks."""
    encoding = stream.encoding or "utf-8"
    lines = "\n".join(map(printable, text.split("\n")))
    stream.write(lines.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def printable(text: str) -> str:
    """Return a text with control characters as escapes: what is read somewhere must not drive the terminal.

    JSON reads the escapes as the characters.
    """
    return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


def flushed(status: int, text: str = "") -> int:
    """Print a text, flush the output and return the exit status; Python would complain at the very end."""
    try:
        pass_on(text, answers())
        return status
    except BrokenPipeError:
        # The reader has enough.
        status = PIPE_CLOSED
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        log(f"The answer cannot be printed: {why}. Send it to another place.")
        status = status or CANNOT_PRINT
    silence(answers())
    return status


def silence(stream: TextIO) -> None:
    """Discard what a stream still holds, so that its failure is reported once."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


LARGEST_BYTES = 1 << 20

_file: TextIO | None = None


def log_path() -> Path:
    """Return where the crash log is on this system."""
    # Commands have no use for it.
    import platformdirs

    return Path(platformdirs.user_log_dir("haloscope", appauthor=False)) / "crash.log"


def open_crash_log() -> None:
    """Let faulthandler write into the crash log; where no log can be written, on stderr."""
    global _file
    with suppress(OSError):
        path = log_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.exists() and path.stat().st_size > LARGEST_BYTES
        file = path.open("w" if fresh else "a", encoding="utf-8")
        # What Python opened is closed before its last moments, of which a crash is to be logged too.
        faulthandler.enable(os.dup(file.fileno()))
        _file = file
    if _file is not None:
        atexit.register(_file.close)
    elif sys.stderr is not None:
        faulthandler.enable()


def note_error(error: BaseException) -> None:
    """Log an error with its traceback: one that was not expected, or could not be shown."""
    target = _file or sys.stderr
    if target is not None:
        with suppress(OSError, ValueError):
            target.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n")
            traceback.print_exception(error, file=target)
            target.flush()
