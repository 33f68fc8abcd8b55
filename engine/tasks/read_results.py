"""Results read back from plain data: the other direction of `Measurement.as_json` and of result files.

Files of version 1 are read too: filter runs ("haloscope-results") and products ("haloscope-matmul") had a
form each.
"""

from typing import Any

import msgspec

from engine.errors import BadValue
from engine.files.reading import Json, read_json
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

    Raises BadValue for a part that is missing, of another type or out of range.
    """
    try:
        data = _upgraded(data)
        if (task := TASKS.get(data["task"])) is None:
            raise ValueError(f"{data['task']!r} is not a task")
        problem = task.problem_fields(data["problem"])
        parts = {name: data[name] for name in Measurement.__dataclass_fields__}
        parts["problem"] = {
            name: problem[name]
            for name in task.problem.__struct_fields__
            if name in problem or name not in _LATER
        }
        parts["failure"] = _failure(data)
        if proof := data["verification"]:
            errors = {name: float(proof[name]) for name in _MAY_BE_INFINITE if proof[name] in _NON_FINITE}
            parts["verification"] = proof | errors
        # Settings are made already.
        kind: Any = Measurement[task.problem]  # type: ignore[name-defined]
        found: AnyResult = msgspec.convert(parts, kind, dec_hook=lambda kind, value: value)
        return found
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BadValue("This is not the result of a run", reason, "Measure it again.") from error


def _upgraded(data: Json) -> Json:
    """Return a result as version 2 writes it now."""
    later: Json = {"launches": None, "explained": None, "steps": []}
    data = later | data
    if "task" in data:
        return data
    # Results from before 0.2 have no layout, work or refusals.
    texts = dict.fromkeys(("layout", "chosen_because", "mask_name"), "")
    absent: Json = texts | {"work": None, "refused": False, "weights_digest": None}
    if "product" not in data:
        return absent | {"task": "filtering"} | data
    tile = data["tile"]
    block = None if tile is None else {"x": tile, "y": tile}
    environment = data["environment"] | {"bandwidth_gb_s": data["bandwidth_gb_s"]}
    moved = {"task": "product", "problem": data["product"], "block": block, "environment": environment}
    return absent | data | moved


def _failure(data: Json) -> Reason | None:
    """Return why a run failed; files of before 0.2 have it as text alone."""
    text: str = data["failure"]
    if not text:
        return None
    reason = data.get("reason")
    return msgspec.convert(reason, Reason) if reason else Reason("from-file", text.rstrip("."))


# What the problem in a file of this version need not have.
_LATER = ("result_dtype",)
# What JSON has only as a text.
_NON_FINITE = ("NaN", "Infinity", "-Infinity")
_MAY_BE_INFINITE = ("max_error", "bound")
