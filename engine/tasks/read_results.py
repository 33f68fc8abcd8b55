"""Results read back from plain data: the other direction of `Measurement.as_json` and of result files.

Files of version 1 are read too: filter runs ("haloscope-results") and products ("haloscope-matmul") had a
form each.
"""

import dataclasses
import math
import reprlib
from inspect import signature
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from engine.errors import BadValue
from engine.files.reading import read_json
from engine.geometry.border import Border
from engine.message import Message
from engine.reason import Reason
from engine.results.export import FORMAT, VERSION
from engine.results.measurement import AnyResult, Measurement
from engine.tasks.registry import TASKS

_REMEDY = "Take a file that Haloscope saved."
# With every sample of a sweep a file has some MB.
_MOST_BYTES = 1 << 30
_READABLE = {FORMAT: (1, VERSION), "haloscope-matmul": (1,)}


def results_in_file(path: str) -> tuple[AnyResult, ...]:
    """Return the results of a file; raises BadValue where it cannot be read, or is no file of results."""
    return results_from_document(read_json(path, _MOST_BYTES, f"{path} cannot be read", BadValue))


def results_from_document(data: Any) -> tuple[AnyResult, ...]:
    """Return the results of a file, as `json.loads` gives it, of this version or of an earlier one.

    Raises BadValue for other data, a later version, and a damaged result.
    """
    what, remedy = "The results cannot be read", _REMEDY
    form = data.get("format") if isinstance(data, dict) else None
    if not isinstance(form, str) or form not in _READABLE:
        raise BadValue(what, "this is not a file of results", remedy)
    if data.get("version") not in _READABLE[form]:
        reason = f"the file has version {data.get('version')!r}, and this program reads up to {VERSION}"
        raise BadValue(what, reason, "Use a newer Haloscope.")
    if not isinstance(data.get("results"), list):
        raise BadValue(what, "the list of results is missing", remedy)
    return tuple(map(result_from_json, data["results"]))


def result_from_json(data: Any) -> AnyResult:
    """Return the result of `Measurement.as_json`; derived values (medians) are derived anew.

    Raises BadValue for a part that is missing, of another type or out of range, UnknownName for an unknown
    border.
    """
    try:
        data = _upgraded(data)
        if (task := TASKS.get(data["task"])) is None:
            raise ValueError(f"{data['task']!r} is not a task")
        parts = {name: _value(kind, data[name], name) for name, kind in _PARTS.items()}
        parts["failure"] = _failure(data)
        fields = task.problem_fields(data["problem"])
        return Measurement(problem=_value(task.problem, fields, "problem"), **parts)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BadValue("This is not the result of a run", reason, "Measure it again.") from error


def _upgraded(data: dict[str, Any]) -> dict[str, object]:
    """Return a result as version 2 writes it now."""
    data = {"launches": None, "explained": None, "steps": []} | data
    if "task" in data:
        return data
    # Results from before 0.2 have no layout, work or refusals.
    texts = dict.fromkeys(("layout", "chosen_because", "mask_name"), "")
    absent: dict[str, Any] = texts | {"work": None, "refused": False, "weights_digest": None}
    if "product" not in data:
        return absent | {"task": "filtering"} | data
    tile = data["tile"]
    block = None if tile is None else {"x": tile, "y": tile}
    environment = data["environment"] | {"bandwidth_gb_s": data["bandwidth_gb_s"]}
    moved = {"task": "product", "problem": data["product"], "block": block, "environment": environment}
    return absent | data | moved


_PARTS = {
    name: kind for name, kind in get_type_hints(Measurement).items() if name not in ("problem", "failure")
}
# What files of this version need not have.
_LATER = (
    "result_dtype", "in_steps", "undecided", "chosen", "wrong_samples", "unproven_samples", "bandwidth_gb_s",
)  # fmt: skip
# Lists that have nothing in them where nothing is known.
_MAY_BE_EMPTY = ("bounds", "steps")
_NON_FINITE = ("NaN", "Infinity", "-Infinity")


def _value(kind: Any, value: Any, name: str) -> Any:
    """Return plain data as a value of a type: a dataclass field by field, nothing but what the type says."""
    inner = get_args(kind)
    if get_origin(kind) is UnionType:
        return None if value is None else _value(inner[0], value, name)
    if kind is float:
        return _number(value, name)
    if kind is Border:
        return Border.named(_value(str, value, name))
    if dataclasses.is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, Message)):
        return _fields(kind, value)
    if get_origin(kind) is dict:
        return {str(key): _value(inner[1], item, name) for key, item in value.items()}
    if get_origin(kind) is tuple:
        kinds = inner[:1] * len(value) if Ellipsis in inner else inner
        items = tuple(_value(each, item, name) for each, item in zip(kinds, value, strict=True))
        if not items and name not in _MAY_BE_EMPTY:
            raise ValueError(f"{name} is empty")
        return items
    if type(value) is not kind:
        raise TypeError(f"{name} is not of type {kind.__name__}")
    if kind is int:
        _number(value, name)
    return value


def _fields(kind: Any, data: Any) -> Any:
    hints = get_type_hints(kind)
    names = [name for name in signature(kind).parameters if name in data or name not in _LATER]
    return kind(**{name: _value(hints[name], data[name], name) for name in names})


def _failure(data: dict[str, object]) -> Reason | None:
    """Return why a run failed; files of before 0.2 have it as text alone."""
    text = _value(str, data["failure"], "failure")
    if not text:
        return None
    return _fields(Reason, data["reason"]) if data.get("reason") else Reason("from-file", text.rstrip("."))


def _number(value: Any, name: str) -> float:
    """Return a number, also one that JSON has only as a string."""
    if value in _NON_FINITE:
        return float(value)
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} is {reprlib.repr(value)}, not a number")
    return number
