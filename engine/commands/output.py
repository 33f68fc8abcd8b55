"""What the commands print: answers on standard output, everything else on standard error."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from engine.errors import FileWriteError
from engine.files import standard_streams
from engine.files.standard_streams import printable
from engine.interrupts import telling
from engine.results.text_forms import json_text


def print_answer(text: str) -> None:
    """Print an answer. Raises BrokenPipeError: its reader closed it; FileWriteError: it cannot be written."""
    output = standard_streams.answers()
    try:
        standard_streams.pass_on(f"{text}\n", output)
    except BrokenPipeError:
        raise
    except OSError as error:
        standard_streams.silence(output)
        reason = (error.strerror or str(error)).lower()
        raise FileWriteError("The answer cannot be printed", reason, "Send it to another place.") from error


def print_one(as_json: bool, document: object, text: str) -> None:
    """Print the one JSON document of a command on standard output, or what it says in words."""
    print_answer(json_text(document).rstrip("\n") if as_json else text)


def print_entries(as_json: bool, name: str, entries: Sequence[Mapping[str, object]], text: str) -> None:
    """Print what there is: as the JSON document of a command that lists it, or in words."""
    print_one(as_json, {"format": f"haloscope-{name}", "version": 1, name: entries}, text)


def log(line: str) -> None:
    """Print a line on standard error: an error, a note, progress; nothing happens where that is closed."""
    standard_streams.log(" ".join(line.split()))


def log_notes(notes: Sequence[str]) -> None:
    """Print notes beside the answer, one line each."""
    for note in notes:
        log(f"note: {note}")


def progress_log(name: str, every_s: float = 3.0) -> Callable[[float, str], None]:
    """Return what prints how far a picture is, a line where the last one is some seconds ago."""
    begin_s = last_s = time.monotonic()
    first: float | None = None

    def show(fraction: float, words: str) -> None:
        nonlocal begin_s, last_s, first
        now_s = time.monotonic()
        if first is None:
            first, begin_s = fraction, now_s
        # Rarer in long runs.
        if now_s - last_s < max(every_s, (now_s - begin_s) / 20):
            return
        last_s, done = now_s, fraction - first
        left = (now_s - begin_s) * (1.0 - fraction) / done if done > 0 else 0.0
        duration = f"{left / 60:.0f} min" if left < 5400 else f"{left / 3600:.1f} h"
        about = f", about {f'{left:.0f} s' if left < 90 else duration} left" if left else ""
        log(f"{name}: {100 * fraction:.0f} % {words}{about}")

    return show


def clip_hint(words: str, better_range: str, where: str = "") -> str:
    """Return that much of a result is clipped in the file, in these words, and the option that saves it."""
    return f"{where}{words}; --range {better_range} keeps them apart"


@contextmanager
def report_interrupt(files: Sequence[str], done: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Let Ctrl+C end the process with a line that says what was done, and which files were written.

    `files` are written within, each whole or not at all; `done` returns "3 of 18 cells done".
    """
    before = [_version(path) for path in files]

    def line() -> str:
        parts = [done()] if done() else []
        # Ctrl+C may come after a file took its name and before the command knows of it.
        for path, old in zip(files, before, strict=True):
            parts.append(f"{path} was {'not ' if _version(path) == old else ''}written")
        return printable(f"Stopped: {'; '.join(parts)}.")

    with telling(line):
        yield


def _version(path: str) -> tuple[int, int] | None:
    """Return what differs once a file has been replaced; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_mtime_ns


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return lines with aligned columns; those whose numbers are in `right` are aligned on the right."""
    lines = [headers, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
