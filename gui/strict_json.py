"""Reads JSON that may be damaged: sizes and numbers are checked before use."""

import os
import stat
from pathlib import Path
from typing import Any

from engine.errors import EngineError, MaskError
from engine.mask.json_form import read_object

LONGEST_TEXT = 4096
_REMEDY = "Choose another file, or save it again."


def read_strict_json(path: Path, largest_bytes: int) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises
    ------
    EngineError
        As `read_bytes`, or it is not JSON, not an object, nested too deep, or has a key twice or a number
        that is not finite.
    """
    data, what = read_bytes(path, largest_bytes), _what(path)
    try:
        return read_object(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise EngineError(what, "it is not text in UTF-8", _REMEDY) from error
    except MaskError as error:
        # That reader is the one of mask files; what it says of JSON holds for every file.
        raise EngineError(what, error.why, _REMEDY) from error


def read_bytes(path: Path, largest_bytes: int) -> bytes:
    """Return what is in a file.

    Raises EngineError where it cannot be read, is a pipe or a device, or is too large.
    """
    what = _what(path)
    try:
        # Asked before opening: opening a pipe would wait for ever.
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise EngineError(what, "it is a device or a pipe, not a file", "Choose a file.")
        with path.open("rb") as file:
            data = file.read(largest_bytes + 1)
    except FileNotFoundError as error:
        raise EngineError(what, "there is no such file", "Check the name and the folder.") from error
    except IsADirectoryError as error:
        raise EngineError(what, "it is a folder", "Choose a file in it.") from error
    except ValueError as error:  # a NUL in the path
        raise EngineError(what, "it is not a possible path", "Check the name and the folder.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise EngineError(
            what, reason[:1].lower() + reason[1:], "Check the name and the permissions."
        ) from error
    if len(data) > largest_bytes:
        raise EngineError(
            what,
            f"it has more than {largest_bytes:,} bytes, which no file of this kind has",
            "Choose another.",
        )
    return data


def _what(path: Path) -> str:
    return f"{path.name} cannot be read"


def text_of(value: object) -> str:
    """Return a text of a document; a ValueError says what is wrong with it: "is not text"."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or "\0" in value:
        raise ValueError("is not text")
    try:
        # JSON can write one half of a surrogate pair, which is not a character and in no file's name.
        os.fsencode(value)
    except UnicodeEncodeError as error:
        raise ValueError("holds something that is not a character") from error
    return value
