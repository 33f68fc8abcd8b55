"""Results read back from plain data: the other direction of `RunResult.as_json`."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeVar

from engine.device_info import Environment
from engine.errors import BadValue
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.measurement import RunResult, Spread, Timing
from engine.tasks.filtering.problem import Problem
from engine.tasks.work import Work
from engine.verify.verification import Verification

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
    return RunResult(
        **{name: typed(str, data, name) for name in words},
        problem=_problem(data["problem"]),
        block=optional(data["block"], lambda block: Block(typed(int, block, "x"), typed(int, block, "y"))),
        environment=environment_from_json(data["environment"]),
        timing=optional(data["timing"], timing_from_json),
        verification=optional(data["verification"], verification_from_json),
        seed=typed(int, data, "seed"),
        # Results of before 0.2 have neither.
        layout=typed(str, data, "layout") if "layout" in data else "",
        work=optional(data.get("work"), work_from_json),
        # Older results did not tell it.
        refused=typed(bool, data, "refused") if "refused" in data else False,
    )


def environment_from_json(data: dict[str, Any]) -> Environment:
    """Return the machine and the versions behind a result."""
    names = ("device", "driver", "clocks", "commit")
    versions = {str(name): typed(str, data["versions"], name) for name in data["versions"]}
    return Environment(**{name: typed(str, data, name) for name in names}, versions=versions)


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
        cval=number(data["cval"]),
        # Results of before 0.2 were float32 always.
        result_dtype=typed(str, data, "result_dtype") if "result_dtype" in data else "float32",
    )


def timing_from_json(data: dict[str, Any]) -> Timing:
    """Return the durations of a result."""
    return Timing(
        kernel=_spread(data["kernel"]),
        end_to_end=_spread(data["end_to_end"]),
        compile_ms=number(data["compile_ms"]),
        allocate_ms=number(data["allocate_ms"]),
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
    samples = tuple(number(sample) for sample in data["samples_ms"])
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


def number(value: Any) -> float:
    """Return a finite number."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)
