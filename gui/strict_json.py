"""Reading JSON that a person or another program may have damaged: sizes and numbers are checked before use."""

import json
import math
import stat
from pathlib import Path
from typing import Any, NoReturn

from engine.errors import EngineError


def read_strict_json(path: Path, largest_bytes: int) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises
    ------
    EngineError
        The file cannot be read, is none (a pipe, a device), is too large, is no JSON, not an object, nested too deep, or has a key twice or a
        number that is not finite.
    """
    what = f"{path.name} cannot be read"
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
    try:
        document = json.loads(
            data.decode("utf-8"), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique
        )
    except (ValueError, RecursionError) as error:
        # Of a decoder's error only the place is of use to a person.
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        why = str(error) if isinstance(error, _RefusedError) else f"it is not JSON as it should be{where}"
        raise EngineError(what, why, "Choose another file, or save it again.") from error
    if not isinstance(document, dict):
        raise EngineError(what, "it does not hold a JSON object", "Choose another file, or save it again.")
    return document


class _RefusedError(ValueError):
    """Something that JSON's grammar lets pass and we do not."""


def _refuse(word: str) -> NoReturn:
    raise _RefusedError(f"it says {word}, which is not a finite number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _RefusedError(f"the number {digits[:20]} in it is too large")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise _RefusedError("a key stands in it twice")
    return document
