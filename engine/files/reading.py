"""Reading files of people and of earlier runs: bytes, text and JSON. Whatever is wrong is one typed error.

A file may be missing, a folder, a pipe that nobody writes to, a device without an end, too large, in another
encoding, and its JSON nested so deep that Python gives up, or what reads it later.
"""

import json
import math
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from engine.errors import EngineError, FileReadError
from engine.files.atomic_write import FilePath, path_text

Json = dict[str, Any]
"""A JSON object as it was read, or as it is to be written: who takes a part of it checks what that is."""

_CHECK = "Check the name and the folder."
_CHOOSE = "Choose another file, or save it again."
_SAVE_AS_TEXT = "Save it as text in UTF-8."


class NotAFile(OSError):
    """A device or a pipe, which may have no end or wait for a writer."""


# Subclasses first.
_REASONS: tuple[tuple[type[Exception], str, str], ...] = (
    (NotAFile, "it is a device or a pipe, not a file", "Choose a file."),
    (FileNotFoundError, "there is no such file", _CHECK),
    (IsADirectoryError, "it is a folder", "Choose a file in it."),
    (NotADirectoryError, "part of its path is a file, not a folder", _CHECK),
    (PermissionError, "you may not read it", "Change its permissions, or copy it to a folder of your own."),
    (ValueError, "it is not a possible path", _CHECK),  # a NUL in it, or no character
    (MemoryError, "there is not enough memory for it", "Close other programs."),
)
# Whole numbers of fewer bits are finite as float64, so that nothing which divides or shows one can fail.
_TOO_MANY_BITS = 1024
_SHOWN = 40
_DEEPEST = 500
_BETWEEN_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[^]["{}]+')
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_KINDS = (list, "a list"), (str, "a text"), (bool, "true or false"), ((int, float), "a number")


def read_bytes(
    path: FilePath, most_bytes: int, what: str | None = None, error: type[EngineError] = FileReadError
) -> bytes:
    """Return what is in a file, of whose kind none has more than `most_bytes`.

    `what` failed is for the error: "The chain 'a.json' cannot be opened". An `error` is raised for whatever
    is wrong: it is missing, no file, a device, unreadable, too large.
    """
    what = what or _what(path)
    try:
        with open_file(path_text(path)) as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError, MemoryError) as fault:
        raise error(what, *why_unreadable(fault)) from fault
    if len(data) > most_bytes:
        why = f"it has more than {most_bytes:,} bytes, which no file of this kind has"
        raise error(what, why, "Choose another file.")
    return data


def read_text(
    path: FilePath, most_bytes: int, what: str | None = None, error: type[EngineError] = FileReadError
) -> str:
    """Return the text of a file in UTF-8, with or without a byte-order mark; errors as `read_bytes`."""
    data, what = read_bytes(path, most_bytes, what, error), what or _what(path)
    if not data:
        raise error(what, "it is empty (0 bytes)", "Choose another file.")
    return text_of_bytes(data, what, error)


def read_json(
    path: FilePath, most_bytes: int, what: str | None = None, error: type[EngineError] = FileReadError
) -> Json:
    """Return the JSON object in a file; errors as `read_text` and `json_object`."""
    what = what or _what(path)
    return json_object(read_text(path, most_bytes, what, error), what, error)


def text_of_bytes(data: bytes, what: str, error: type[EngineError] = FileReadError) -> str:
    """Return bytes as text; an error says that they are none, or in another encoding."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise error(what, "it is text in UTF-16, not in UTF-8", _SAVE_AS_TEXT)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise error(what, "it is not text in UTF-8", _SAVE_AS_TEXT) from fault
    if "\0" in text:
        raise error(what, "it holds zero bytes, so it is no text", _SAVE_AS_TEXT)
    return text


def json_object(
    text: str,
    what: str,
    error: type[EngineError] = FileReadError,
    example: str = _CHOOSE,
    *,
    is_strict: bool = True,
) -> Json:
    """Return the JSON object in a text of limited length; strictly with every number finite, no key twice.

    All else is an error, whose remedy may be an `example` of what is meant.
    """

    def refuse(why: str, remedy: str = example) -> NoReturn:
        raise error(what, why, remedy)

    def number(kind: type[int] | type[float], digits: str) -> float:
        value = kind(digits)
        if value.bit_length() >= _TOO_MANY_BITS if isinstance(value, int) else not math.isfinite(value):
            refuse(f"it says {_quoted(digits)}, which is too large a number", "Write a smaller number.")
        return value

    def constant(word: str) -> NoReturn:
        refuse(f"it says {word}, which is not a finite number", "Give finite numbers.")

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        members = dict(pairs)
        if len(members) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            refuse(f"it has the key {_quoted(twice)} twice", "Keep one of the two.")
        return members

    hooks: Json = {
        "parse_constant": constant,
        "parse_float": partial(number, float),
        "parse_int": partial(number, int),
        "object_pairs_hook": unique,
    }
    # Deeper than what reads it stands: Python 3.14 itself reads any depth.
    if text.count("[") + text.count("{") > _DEEPEST:
        steps = map(_STEPS.__getitem__, _BETWEEN_BRACKETS.sub("", text))
        if max(accumulate(steps)) > _DEEPEST:
            refuse("its JSON is nested too deep")
    try:
        document = json.loads(text, **(hooks if is_strict else {}))
    except json.JSONDecodeError as fault:
        left = text[fault.pos :]
        where = f"line {fault.lineno} cannot be read from {left[:20]!r} on" if left.strip() else ""
        why = f"it is not JSON: {where or 'it ends too early'}" if text.strip() else "it is empty"
        raise error(what, why, example) from fault
    except MemoryError as fault:
        raise error(what, "there is not enough memory for it", "Close other programs.") from fault
    except ValueError as fault:
        # Python itself refuses whole numbers of more than 4,300 digits.
        raise error(what, "a number in it is too long", example) from fault
    if not isinstance(document, dict):
        kind = next((name for kind, name in _KINDS if isinstance(document, kind)), "null")
        refuse(f"its JSON is {kind}, not an object")
    return document


def open_file(path: FilePath) -> BinaryIO:
    """Open a file for reading, without a wait for what is none; `why_unreadable` has words for its errors."""
    # Asked before opening: that may wait, or do something to a device.
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise NotAFile
    # What has become a pipe meanwhile does not wait either.
    at_once = getattr(os, "O_NONBLOCK", 0)
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotAFile
    return file


def why_unreadable(fault: Exception) -> tuple[str, str]:
    """Return why a file cannot be read, and a remedy, for an error of opening or reading it."""
    known = ((why, remedy) for kind, why, remedy in _REASONS if isinstance(fault, kind))
    reason = (getattr(fault, "strerror", None) or str(fault)).lower()
    return next(known, (reason, "Check the name and the disk."))


def _what(path: FilePath) -> str:
    return f"{os.path.basename(path_text(path))} cannot be read"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


_PACKAGE = Path(__file__).resolve().parents[1]
# Within the package where it is installed, beside it in a clone.
ASSETS = _PACKAGE / "assets" if (_PACKAGE / "assets").is_dir() else _PACKAGE.parent / "assets"

# Of a document: longer than each of them by far.
MOST_ASSET_BYTES = 1 << 26
# What reading, unpacking and looking into a damaged one raises; RecursionError is a RuntimeError.
_FAULTS = (
    ArithmeticError, AttributeError, EngineError, EOFError, LookupError, MemoryError, OSError, RuntimeError,
    TypeError, ValueError, zlib.error,
)  # fmt: skip


@contextmanager
def faults_of_asset(path: Path, title: str) -> Iterator[None]:
    """Raise an EngineError that says what to do where a file of the program is missing or damaged."""
    try:
        yield
    except _FAULTS as error:
        raise EngineError(
            f"{title} {path.name!r} cannot be read",
            error.why if isinstance(error, EngineError) else str(error) or type(error).__name__,
            "Install the program again: this file came with it.",
        ) from error
