"""Results read back from plain data: the other direction of `RunResult.as_json`."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeVar

from engine.block import Block
from engine.border import Border
from engine.errors import BadValue
from engine.problem import Problem
from engine.results import Environment, RunResult, Spread, Timing, Verification
from engine.work import Work

T = TypeVar("T")


def result_from_json(data: Any) -> RunResult:
    """Return the result that `RunResult.as_json` described; what it derived (medians, `status`) is derived anew.

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
        return _result(data)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BadValue("This is not the result of a run", reason, "Measure it again.") from error


def _result(data: dict[str, Any]) -> RunResult:
    words = ("variant", "title", "device", "mask_name", "failure", "chosen_because")
    environment = data["environment"]
    names = ("device", "driver", "clocks", "commit")
    versions = {str(name): _typed(str, environment["versions"], name) for name in environment["versions"]}
    return RunResult(
        **{name: _typed(str, data, name) for name in words},
        problem=_problem(data["problem"]),
        block=_optional(data["block"], lambda block: Block(_typed(int, block, "x"), _typed(int, block, "y"))),
        environment=Environment(
            **{name: _typed(str, environment, name) for name in names}, versions=versions
        ),
        timing=_optional(data["timing"], _timing),
        verification=_optional(data["verification"], _verification),
        seed=_typed(int, data, "seed"),
        # Results of before 0.2 have neither.
        layout=_typed(str, data, "layout") if "layout" in data else "",
        work=_optional(data.get("work"), _work),
    )


def _work(data: dict[str, Any]) -> Work:
    return Work(**{name.name: _typed(int, data, name.name) for name in dataclasses.fields(Work)})


def _problem(data: dict[str, Any]) -> Problem:
    return Problem(
        **{name: _typed(int, data, name) for name in ("height", "width", "channels")},
        dtype=_typed(str, data, "dtype"),
        mask_shape=_pair(data["mask_shape"]),
        anchor=_pair(data["anchor"]),
        border=Border.named(_typed(str, data, "border")),
        cval=_number(data["cval"]),
    )


def _timing(data: dict[str, Any]) -> Timing:
    return Timing(
        kernel=_spread(data["kernel"]),
        end_to_end=_spread(data["end_to_end"]),
        compile_ms=_number(data["compile_ms"]),
        allocate_ms=_number(data["allocate_ms"]),
        host_to_device=_optional(data["host_to_device"], _spread),
        device_to_host=_optional(data["device_to_host"], _spread),
        clock=_typed(str, data, "clock"),
        cache=_typed(str, data, "cache"),
    )


def _verification(data: dict[str, Any]) -> Verification:
    return Verification(
        passed=_typed(bool, data, "passed"),
        max_error=_number(data["max_error"]),
        bound=_number(data["bound"]),
        checked_pixels=_typed(int, data, "checked_pixels"),
        total_pixels=_typed(int, data, "total_pixels"),
        exact=_typed(bool, data, "exact"),
        reason=_typed(str, data, "reason"),
    )


def _spread(data: dict[str, Any]) -> Spread:
    samples = tuple(_number(sample) for sample in data["samples_ms"])
    if not samples:
        raise ValueError("a duration has no samples")
    return Spread(samples)


def _optional(value: Any, read: Callable[[Any], T]) -> T | None:
    return None if value is None else read(value)


def _typed(kind: type[T], data: dict[str, Any], name: str) -> T:
    value = data[name]
    if type(value) is not kind:
        raise TypeError(f"{name} is not of type {kind.__name__}")
    return value


def _pair(value: Any) -> tuple[int, int]:
    first, second = value
    return _typed(int, {"a side": first}, "a side"), _typed(int, {"a side": second}, "a side")


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)
