"""The JSON form of a mask: weights, anchor, offset and name, for files and for the clipboard.

`{"format": "haloscope-mask", "version": 1, "name": "Sobel x", "weights": [[-1, 0, 1], ...], "anchor": [1, 1],
"offset": 0, "divisor": 1}`; only the format, the version and the weights must be there. A weight or the
divisor may be a fraction, `"1/9"`. Instead of weights there may be a generator's spelling, `"generate":
"gaussian:9:1.5"`.
"""

import json

from engine.errors import MaskError
from engine.files.reading import Json, json_object
from engine.mask.generator_table import number_text
from engine.mask.generators import parse_generator
from engine.mask.mask import MAX_NAME_CHARACTERS, Mask
from engine.mask.typed import WHAT, TypedWeights, check_rectangle, quoted, read_fraction, refuse

FORMAT = "haloscope-mask"
VERSION = 1

_KEYS = ("format", "version", "name", "generate", "weights", "anchor", "offset", "divisor")
_EXAMPLE = (
    f'A mask in JSON looks like {{"format": "{FORMAT}", "version": {VERSION}, "weights": [[1, 0, -1]]}}.'
)


def mask_to_json(mask: Mask) -> str:
    """Return a mask as JSON, one row of weights per line; it reads back to an equal mask of the same name."""
    return json_in_lines(document_of(mask), "weights")


def json_in_lines(document: Json, last: str) -> str:
    """Return an object as JSON, a line for each key, and for each item of the list under the `last` one."""
    items = (json.dumps(item, ensure_ascii=False, allow_nan=False) for item in document.pop(last))
    head = "".join(f'  "{key}": {json.dumps(value, allow_nan=False)},\n' for key, value in document.items())
    lines = ",\n    ".join(items)
    return f'{{\n{head}  "{last}": [\n    {lines}\n  ]\n}}\n'


def document_of(mask: Mask) -> Json:
    """Return a mask as a JSON object of its own."""
    return {"format": FORMAT, "version": VERSION} | mask_values(mask)


def mask_values(mask: Mask) -> Json:
    """Return the keys `name`, `weights`, `anchor`, `offset` and `divisor` of a JSON object, as typed."""
    typed = mask.typed
    values: Json = {
        "name": mask.name,
        "weights": [[_json_value(cell) for cell in row] for row in typed.cells],
        "anchor": list(mask.anchor),
        "offset": mask.offset,
    }
    return values | ({"divisor": _json_value(typed.divisor)} if typed.divisor else {})


def _json_value(text: str) -> int | float | str:
    """Return a fraction as its text, a number as JSON has it: whole ones without a point."""
    return text if "/" in text else json.loads(number_text(float(text)))


def numbers_of(mask: Mask) -> dict[str, object]:
    """Return the numbers of a mask as the documents of commands have them."""
    numbers = {name: getattr(mask, name) for name in ("rows", "columns", "anchor", "offset")}
    return numbers | {"weights": mask.weights.tolist()}


def mask_from_json(text: str) -> Mask:
    """Return the mask that a JSON text describes; all else is refused by a `MaskError`."""
    document = json_object(text, WHAT, MaskError, _EXAMPLE)
    if document.get("format") != FORMAT:
        refuse(f'its "format" is not "{FORMAT}"', _EXAMPLE)
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        why = f'its "version" is {quoted(str(version))}, and this program reads version {VERSION}'
        refuse(why, "Save it again from this version of the program.")
    for key in (key for key in document if key not in _KEYS):
        refuse(f"{quoted(key)} is not a key of it", f"The keys are {', '.join(_KEYS)}.")
    if not isinstance(name := document.get("name", ""), str):
        refuse('its "name" is not text', _EXAMPLE)
    return mask_from_values(document, name)


def mask_from_values(document: Json, name: str) -> Mask:
    """Return the mask of the keys `weights`, `divisor`, `anchor` and `offset` of a JSON object."""
    if len(name) > MAX_NAME_CHARACTERS:
        why = f'its "name" has {len(name):,} characters, and at most {MAX_NAME_CHARACTERS} are taken'
        refuse(why, "Shorten it.")
    anchor, offset = document.get("anchor"), _number(document.get("offset", 0), "the offset")
    if "generate" in document:
        if "weights" in document:
            refuse('it has both "generate" and "weights"', "Keep one of the two.")
        spelling = document["generate"]
        made = parse_generator(spelling) if isinstance(spelling, str) else None
        if made is None:
            refuse(f'its "generate" is {quoted(str(spelling))}', "Write it as in gaussian:9:1.5.")
        return Mask(made.weights, anchor, offset, name or made.name)
    rows = document.get("weights")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        refuse('its "weights" are not a list of rows', _EXAMPLE)
    check_rectangle(rows)
    cells = tuple(
        tuple(_text(cell, f"row {number}, column {column}") for column, cell in enumerate(row, start=1))
        for number, row in enumerate(rows, start=1)
    )
    divisor = _text(document.get("divisor", 1), "the divisor")
    return Mask(TypedWeights(cells, "" if divisor == "1" else divisor), anchor, offset, name)


def _text(value: object, where: str) -> str:
    if isinstance(value, str) and "/" in value:
        read_fraction(value, where)
        return value
    return number_text(_number(value, where))


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        why = f"{where} is {quoted(str(value))}, which is not a number"
        refuse(why, "Write numbers such as 1, -0.5 or 1e-3.")
    return float(value)
