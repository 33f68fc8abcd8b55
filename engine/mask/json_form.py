"""The JSON form of a mask: weights, anchor, offset and name, for files and for the clipboard.

`{"format": "haloscope-mask", "version": 1, "name": "Sobel x", "weights": [[-1, 0, 1], ...], "anchor": [1, 1],
"offset": 0, "divisor": 1}`; only the format, the version and the weights must be there.
"""

import json
import math
import re
from typing import Any, NoReturn

from engine.errors import MaskError
from engine.mask.mask import MAX_NAME_CHARACTERS, Mask
from engine.mask.text_cells import WHAT, check_rectangle, quoted, refuse

FORMAT = "haloscope-mask"
VERSION = 1

_KEYS = ("format", "version", "name", "weights", "anchor", "offset", "divisor")
# Whole numbers of fewer bits are finite as float64, so that nothing which divides or shows one can fail.
_TOO_MANY_BITS = 1024
_EXAMPLE = (
    f'A mask in JSON looks like {{"format": "{FORMAT}", "version": {VERSION}, "weights": [[1, 0, -1]]}}.'
)


def looks_like_json(text: str) -> bool:
    """Return whether a text begins as a JSON object does, and not as a C literal."""
    return re.match(r"\s*\{\s*[\"}]", text) is not None


def mask_to_json(mask: Mask) -> str:
    """Return a mask as JSON, one row of weights per line; it reads back to an equal mask of the same name."""
    rows = ",\n    ".join(
        "[" + ", ".join(number_text(weight) for weight in row) + "]" for row in mask.weights.tolist()
    )
    return (
        f'{{\n  "format": "{FORMAT}",\n  "version": {VERSION},\n'
        f'  "name": {json.dumps(mask.name, allow_nan=False)},\n'
        f'  "weights": [\n    {rows}\n  ],\n'
        f'  "anchor": [{mask.anchor[0]}, {mask.anchor[1]}],\n'
        f'  "offset": {number_text(mask.offset)}\n}}\n'
    )


def mask_from_json(text: str) -> Mask:
    """Return the mask that a JSON text describes; all else is refused by a `MaskError`."""
    document = read_object(text)
    if document.get("format") != FORMAT:
        refuse(f'its "format" is not "{FORMAT}"', _EXAMPLE)
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        refuse(
            f'its "version" is {quoted(str(version))}, and this program reads version {VERSION}',
            "Save it again from this version of the program.",
        )
    for key in (key for key in document if key not in _KEYS):
        refuse(f"{quoted(key)} is not a key of it", f"The keys are {', '.join(_KEYS)}.")
    name = document.get("name", "")
    if not isinstance(name, str):
        refuse('its "name" is not text', _EXAMPLE)
    if len(name) > MAX_NAME_CHARACTERS:
        refuse(
            f'its "name" has {len(name):,} characters, and at most {MAX_NAME_CHARACTERS} are taken',
            "Shorten it.",
        )
    return mask_from_values(document, name)


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a text of limited length, with every number finite and no key twice.

    All else is refused by a `MaskError`.
    """
    try:
        document = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_unique_keys,
        )
    except json.JSONDecodeError as error:
        raise MaskError(WHAT, f"it is not JSON: line {error.lineno}, {error.msg}", _EXAMPLE) from error
    except (RecursionError, ValueError) as error:
        # Python itself refuses whole numbers of more than 4,300 digits.
        deep = isinstance(error, RecursionError)
        why = "its JSON is nested too deep" if deep else "a number in it is too long"
        raise MaskError(WHAT, why, _EXAMPLE) from error
    if not isinstance(document, dict):
        refuse("its JSON is not an object", _EXAMPLE)
    return document


def mask_from_values(document: dict[str, Any], name: str) -> Mask:
    """Return the mask of the keys `weights`, `divisor`, `anchor` and `offset` of a JSON object."""
    rows = document.get("weights")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        refuse('its "weights" are not a list of rows', _EXAMPLE)
    check_rectangle(rows)
    weights = [
        [_number(cell, f"row {row_number}, column {column}") for column, cell in enumerate(row, start=1)]
        for row_number, row in enumerate(rows, start=1)
    ]
    anchor = document.get("anchor")
    if anchor is not None and not (
        isinstance(anchor, list) and len(anchor) == 2 and all(type(part) is int for part in anchor)
    ):
        refuse(
            'its "anchor" is not two whole numbers', "Write the row and the column, counted from 0: [1, 1]."
        )
    offset = _number(document.get("offset", 0), "the offset")
    divisor = _number(document.get("divisor", 1), "the divisor")
    mask = Mask(weights, None if anchor is None else (anchor[0], anchor[1]), offset, name)
    return mask if divisor == 1.0 else mask.divided_by(divisor)


def number_text(value: float) -> str:
    """Return the shortest digits that read back to the same float64, whole numbers without `.0`."""
    # Beyond 2^53 whole numbers are written with an exponent, as repr does.
    return str(int(value)) if value.is_integer() and abs(value) < 2.0**53 else repr(value)


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(
            f"{where} is {quoted(str(value))}, which is not a number",
            "Write numbers such as 1, -0.5 or 1e-3.",
        )
    return float(value)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        refuse(f"it says {quoted(digits)}, which is too large a number", "Write a smaller number.")
    return value


def _whole(digits: str) -> int:
    value = int(digits)
    if value.bit_length() >= _TOO_MANY_BITS:
        refuse(f"it says {quoted(digits)}, which is too large a number", "Write a smaller number.")
    return value


def _refuse_constant(word: str) -> NoReturn:
    refuse(f"it says {word}, which is not a finite number", "Give every cell a finite number.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in pairs:
        if key in document:
            refuse(f"it has the key {quoted(key)} twice", "Keep one of the two.")
        document[key] = value
    return document
