"""What the commands print: answers on standard output, everything else on standard error."""

import re
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from engine.errors import FileWriteError
from engine.files import standard_streams
from engine.results.strict_json import json_text

# Beside the controls themselves those that turn the direction of what is printed after them.
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")


def say(text: str) -> None:
    """Print an answer on standard output.

    Raises
    ------
    BrokenPipeError
        Whoever read it has enough.
    FileWriteError
        It cannot be written there.
    """
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        standard_streams.silence(sys.stdout)
        reason = (error.strerror or str(error)).lower()
        raise FileWriteError("The answer cannot be printed", reason, "Send it to another place.") from error


def say_json(document: Any) -> None:
    """Print the one JSON document of a command on standard output."""
    say(json_text(document).rstrip("\n"))


def tell(line: str) -> None:
    """Print a line for the person on standard error: an error, a note, progress; lost where nobody listens."""
    standard_streams.tell(printable(" ".join(line.split())))


def tell_notes(notes: Sequence[str]) -> None:
    """Print what the person should know beside the answer, one line each."""
    for note in notes:
        tell(f"note: {note}")


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return lines with aligned columns.

    Parameters
    ----------
    headers : sequence of str
    rows : sequence of sequence of str
        As many cells as there are headers.
    right : sequence of int
        Columns that are aligned on the right: numbers.
    """
    lines = [list(headers), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def printable(text: str) -> str:
    """Return a text with its control characters as code points, in backslashes: a name must not drive the terminal."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _write(stream: TextIO, text: str) -> None:
    # A name that the terminal's encoding has not is shown with backslashes instead of ending the program.
    encoding = stream.encoding or "utf-8"
    lines = "\n".join(map(printable, text.split("\n")))
    stream.write(lines.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()
