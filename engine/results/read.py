"""Results read back from plain data: the other direction of `Measurement.as_json` and of the files of results.

Files of version 1 are read too: filter runs ("haloscope-results") and products ("haloscope-matmul") had a form each.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeVar

from engine.device_info import Environment
from engine.errors import BadValue
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.export import FORMAT, VERSION
from engine.results.measurement import Measurement, Spread, Timing
from engine.tasks.filtering.problem import Problem
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.work import Work
from engine.verify.verification import Verification

T = TypeVar("T")


_READABLE = {FORMAT: (1, VERSION), "haloscope-matmul": (1,)}


def results_from_document(data: Any) -> tuple[Measurement[Any], ...]:
    """Return the results of a file, of this version or of an earlier one.

    Parameters
    ----------
    data : object
        As `json.loads` gives it.

    Raises
    ------
    BadValue
        It is no file of results, one of a later version, or one of its results is damaged.
    """
    what, remedy = "The results cannot be read", "Take a file that Haloscope saved."
    if not isinstance(data, dict) or data.get("format") not in _READABLE:
        raise BadValue(what, "this is no file of results", remedy)
    if data.get("version") not in _READABLE[data["format"]]:
        reason = f"the file has version {data.get('version')!r}, and this program reads up to {VERSION}"
        raise BadValue(what, reason, "Use a newer Haloscope.")
    if not isinstance(data.get("results"), list):
        raise BadValue(what, "the list of results is missing", remedy)
    return tuple(map(result_from_json, data["results"]))


def result_from_json(data: Any) -> Measurement[Any]:
    """Return the result that `Measurement.as_json` described; what it derived (medians, `status`) is derived anew.

    Parameters
    ----------
    data : object
        As `json.loads` gives it.

    Raises
    ------
    BadValue
        A part is missing, of another type, or out of range.
    UnknownName
        No border is called that.
    """
    try:
        return _result(_upgraded(data))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BadValue("This is not the result of a run", reason, "Measure it again.") from error


def _upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """Return a result as version 2 writes it."""
    if "task" in data:
        return data
    # Results of before 0.2 tell neither layout nor work nor refusals.
    absent: dict[str, Any] = {
        "layout": "",
        "work": None,
        "refused": False,
        "chosen_because": "",
        "mask_name": "",
    }
    if "product" not in data:
        return absent | {"task": "filtering", "weights_digest": None} | data
    tile = data["tile"]
    block = None if tile is None else {"x": tile, "y": tile}
    environment = data["environment"] | {"bandwidth_gb_s": data["bandwidth_gb_s"]}
    moved = {"task": "product", "problem": data["product"], "block": block, "environment": environment}
    return absent | {"weights_digest": None} | data | moved


def _result(data: dict[str, Any]) -> Measurement[Any]:
    words = ("variant", "title", "device", "mask_name", "failure", "chosen_because", "layout")
    read = _PROBLEMS.get(data["task"])
    if read is None:
        raise ValueError(f"{data['task']!r} is no task")
    return Measurement(
        **{name: typed(str, data, name) for name in words},
        problem=read(data["problem"]),
        block=optional(data["block"], lambda block: Block(typed(int, block, "x"), typed(int, block, "y"))),
        environment=environment_from_json(data["environment"]),
        timing=optional(data["timing"], timing_from_json),
        verification=optional(data["verification"], verification_from_json),
        seed=typed(int, data, "seed"),
        work=optional(data["work"], work_from_json),
        refused=typed(bool, data, "refused"),
        weights_digest=optional(data["weights_digest"], lambda _: typed(str, data, "weights_digest")),
    )


def environment_from_json(data: dict[str, Any]) -> Environment:
    """Return the machine and the versions behind a result."""
    names = ("device", "driver", "clocks", "commit")
    versions = {str(name): typed(str, data["versions"], name) for name in data["versions"]}
    return Environment(
        **{name: typed(str, data, name) for name in names},
        versions=versions,
        bandwidth_gb_s=optional(data.get("bandwidth_gb_s"), finite),
    )


def work_from_json(data: dict[str, Any]) -> Work:
    """Return the work of a result."""
    return Work(**{name.name: typed(int, data, name.name) for name in dataclasses.fields(Work)})


def _problem(data: dict[str, Any]) -> Problem:
    return Problem(
        **{name: typed(int, data, name) for name in ("height", "width", "channels")},
        dtype=typed(str, data, "dtype"),
        mask_shape=_pair(data["mask_shape"]),
        anchor=_pair(data["anchor"]),
        border=Border.named(typed(str, data, "border")),
        cval=finite(data["cval"]),
        # Results of before 0.2 were float32 always.
        result_dtype=typed(str, data, "result_dtype") if "result_dtype" in data else "float32",
    )


def _product(data: dict[str, Any]) -> MatrixProduct:
    return MatrixProduct(**{name: typed(int, data, name) for name in ("rows", "inner", "columns")})


_PROBLEMS: dict[str, Callable[[dict[str, Any]], Any]] = {Problem.task: _problem, MatrixProduct.task: _product}


def timing_from_json(data: dict[str, Any]) -> Timing:
    """Return the durations of a result."""
    return Timing(
        kernel=_spread(data["kernel"]),
        end_to_end=_spread(data["end_to_end"]),
        compile_ms=finite(data["compile_ms"]),
        allocate_ms=finite(data["allocate_ms"]),
        host_to_device=optional(data["host_to_device"], _spread),
        device_to_host=optional(data["device_to_host"], _spread),
        clock=typed(str, data, "clock"),
        cache=typed(str, data, "cache"),
    )


def verification_from_json(data: dict[str, Any]) -> Verification:
    """Return the proof of a result."""
    return Verification(
        passed=typed(bool, data, "passed"),
        max_error=number(data["max_error"]),
        bound=number(data["bound"]),
        checked_pixels=typed(int, data, "checked_pixels"),
        total_pixels=typed(int, data, "total_pixels"),
        exact=typed(bool, data, "exact"),
        reason=typed(str, data, "reason"),
        in_steps=typed(bool, data, "in_steps") if "in_steps" in data else False,
    )


def _spread(data: dict[str, Any]) -> Spread:
    samples = tuple(finite(sample) for sample in data["samples_ms"])
    if not samples:
        raise ValueError("a duration has no samples")
    return Spread(samples)


def optional(value: Any, read: Callable[[Any], T]) -> T | None:
    """Return what `read` makes of a value; None of None."""
    return None if value is None else read(value)


def typed(kind: type[T], data: dict[str, Any], name: str) -> T:
    """Return an entry of a table that has to be of one type, exactly."""
    value = data[name]
    if type(value) is not kind:
        raise TypeError(f"{name} is not of type {kind.__name__}")
    return value


def _pair(value: Any) -> tuple[int, int]:
    first, second = value
    return typed(int, {"a side": first}, "a side"), typed(int, {"a side": second}, "a side")


def finite(value: Any) -> float:
    """Return a finite number."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def number(value: Any) -> float:
    """Return a number, one that JSON has only as a string too."""
    return float(value) if value in _NON_FINITE else finite(value)


_NON_FINITE = ("NaN", "Infinity", "-Infinity")
