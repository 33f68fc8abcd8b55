"""Results read back from plain data, and the recorded runs that come nearest to a problem.

Reading is the other direction of `Measurement.as_json` and of result files. Files of version 1 are read too:
filter runs ("haloscope-results") and products ("haloscope-matmul") had a form each.

Of recorded runs those of the mask's size on the nearest picture are chosen. Nothing is scaled: each run keeps
its own picture, mask and border. Called on: the pipe of the host, or the main thread of a script.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec

from engine.device_info import RECORDED
from engine.errors import BadValue, Reason
from engine.files.reading import Json, faults_of_asset, read_json
from engine.geometry.block import Limits
from engine.mask.mask import Mask
from engine.results.columns import FORMAT, RUNS, VERSION, recorded_document, recorded_path
from engine.results.measurement import AnyResult, Measurement
from engine.results.problem import Checkpoint
from engine.tasks.messages import RecordedRequest, RecordedRuns
from engine.tasks.registry import TASKS
from engine.work.columns import RunResult, mask_text
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.problem import Problem

_REMEDY = "Take a file that Haloscope saved."
# With every sample of a sweep a file has some MB.
_MOST_BYTES = 1 << 30
_READABLE = {FORMAT: (1, VERSION), "haloscope-matmul": (1,)}
# What the problem in a file of this version need not have.
_LATER = ("result_dtype",)
# What JSON has only as a text.
_NON_FINITE = ("NaN", "Infinity", "-Infinity")
_MAY_BE_INFINITE = ("max_error", "bound")
_LIMITS = Limits(compute_capability=(9, 0))
Shape = tuple[int, int]
# What a picture is to a kernel: height, width, channels and type of samples.
Picture = tuple[int, int, int, str]


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
        fields = (name for name in task.problem.__struct_fields__ if name in problem or name not in _LATER)
        parts["problem"] = {name: problem[name] for name in fields}
        parts["failure"] = None
        if text := data["failure"]:
            # Files of before 0.2 have it as text alone.
            from_text, reason = Reason("from-file", text.rstrip(".")), data.get("reason")
            parts["failure"] = msgspec.convert(reason, Reason) if reason else from_text
        if proof := data["verification"]:
            errors = {name: float(proof[name]) for name in _MAY_BE_INFINITE if proof[name] in _NON_FINITE}
            parts["verification"] = proof | errors
        # Settings are made already.
        kind: Any = Measurement[task.problem]  # type: ignore[name-defined]
        result: AnyResult = msgspec.convert(parts, kind, dec_hook=lambda kind, value: value)
        return result
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


def describe(request: RecordedRequest, report: Checkpoint) -> RecordedRuns:
    """Return the recorded runs for a problem."""
    return recorded_runs(request.problem, request.mask)


def recorded_runs(problem: Problem, mask: Mask) -> RecordedRuns:
    """Return a run of each variant that can compute a problem, all on the picture nearest to its own.

    A run with the very mask, border and type of results comes before others.
    """
    if not (recorded := _recorded()):
        return RecordedRuns(note="This version came without recorded runs.")
    if not (pictures := recorded.get(mask.shape)):
        sizes = ", ".join(f"{rows} × {columns}" for rows, columns in sorted(recorded))
        why = f"No run was recorded with a mask of {mask.rows} × {mask.columns}; recorded are {sizes}."
        return RecordedRuns(note=why)
    own = _picture(problem)

    def distance(other: Picture) -> tuple[float, ...]:
        """Return how far a picture is from the problem's: first in type, then in size, then in shape."""
        size = math.log(math.prod(other[:3]) / math.prod(own[:3]))
        return (other[3] != own[3]) + (other[2] != own[2]), abs(size), abs(math.log(other[1] / own[1]))

    def differs(run: RunResult) -> tuple[bool, ...]:
        other = run.problem
        return (
            other.result_dtype != problem.result_dtype,
            run.weights_digest != mask.weights_digest,
            other.border != problem.border,
        )

    chosen: dict[str, RunResult] = {}
    for run in sorted(pictures[min(pictures, key=distance)], key=differs):
        known = variant(run.variant)
        # What a GPU of that kind can do is not in question: it did it.
        refusal = known.why_not(problem, mask, run.block or known.default_block, _LIMITS)
        if run.variant not in chosen and refusal is None:
            chosen[run.variant] = run
    runs = tuple(chosen[known.key] for known in VARIANTS if known.key in chosen)
    return RecordedRuns(runs, _note(runs, problem, mask))


@cache
def _recorded() -> dict[Shape, dict[Picture, list[RunResult]]]:
    """Return all recorded runs, by mask and picture: reading them takes 30 ms."""
    by_mask: dict[Shape, dict[Picture, list[RunResult]]] = {}
    with faults_of_asset(recorded_path(RUNS), "The recording"):
        document = recorded_document(RUNS)
        runs: tuple[Any, ...] = results_from_document(document) if document else ()
        for run in runs:
            on_pictures = by_mask.setdefault(run.problem.mask_shape, {})
            on_pictures.setdefault(_picture(run.problem), []).append(replace(run, device=RECORDED))
    return by_mask


def _picture(problem: Problem) -> Picture:
    return problem.height, problem.width, problem.channels, problem.dtype


def _note(runs: Iterable[RunResult], problem: Problem, mask: Mask) -> str:
    """Say what the recorded runs do not share with a problem; empty where they are of the very same."""
    parts: dict[str, None] = {}
    for run in runs:
        other = run.problem
        if _picture(other) != _picture(problem) or other.result_dtype != problem.result_dtype:
            parts[other.picture_text] = None
        if run.weights_digest != mask.weights_digest:
            parts[f"mask {mask_text(run)}"] = None
        if other.border != problem.border:
            parts[f"border {other.border}"] = None
    return f"Recorded of another problem: {', '.join(parts)}" if parts else ""
