"""Limits that something exceeded: what a device was measured to do at most must be that.

The one rule for every limit of every device: one that was exceeded, by a run or by a kernel that measured
another limit, is measured again. If it is exceeded again it is left out, with the reason; nothing shows it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from engine.explain.limits.device_limits import DeviceLimits
from engine.results.measurement import Bound
from engine.results.quantities import digits_text

MOST_SHARE = 1.03
"""What is above a limit by less is within what times vary."""
# The limit that a bound follows from, where it has another name than the bound.
_LIMITS = {
    "copy": "copy_bytes_per_s", "loads": "vector_loads_per_s", "stores": "vector_stores_per_s",
    "l1": "shared_bytes_per_s",
    "int8-tensor": "int8_tensor_multiply_adds_per_s", "float16-tensor": "float16_tensor_multiply_adds_per_s",
    "launch": "launches_per_s", "shared-launch": "shared_launches_per_s",
}  # fmt: skip
_VECTOR_THREADS = 32


class Reached(NamedTuple):
    """That something did a limit's work so many times as fast as the limit says."""

    limit: str
    """Name of a field of `DeviceLimits`."""
    times: float
    by: str


def measured_well(measure: Callable[[], DeviceLimits]) -> DeviceLimits:
    """Return limits that the kernels which measured them do not exceed; others are measured again once."""
    limits = measure()
    if any(one.times > MOST_SHARE for one in reached_by_kernels(limits)):
        limits = limits.or_more(measure())
    return without_refuted(limits, reached_by_kernels(limits))


def reached_by_kernels(limits: DeviceLimits) -> Iterator[Reached]:
    """Yield what the kernels that measured some limits did of what others limit."""
    rates = {name: limit.measured for name, limit in limits.rates()}
    # Of each work how much of another it is: a multiply-add of vectors is a vector operation, and so on.
    lanes = limits.vector_bits // 32 if limits.cores else _VECTOR_THREADS
    works = [
        ("multiply_adds_per_s", lanes, "vector_operations_per_s", "multiply-adds"),
        ("multiply_adds_per_s", lanes, "instructions_per_s", "multiply-adds"),
        ("misaligned_vector_loads_per_s", 1, "vector_loads_per_s", "loads across two cache lines"),
        ("converted_multiply_adds_per_s", 1, "scalar_multiply_adds_per_s", "multiply-adds of integers"),
        ("short_scalar_multiply_adds_per_s", 1, "scalar_multiply_adds_per_s", "shorter sums"),
        ("short_converted_multiply_adds_per_s", 1, "converted_multiply_adds_per_s", "shorter sums"),
        ("vector_operations_per_s", 1, "half_vector_operations_per_s", "operations on whole vectors"),
        ("vector_loads_per_s", 1, "narrow_loads_per_s", "loads of whole vectors"),
        ("copy_bytes_per_s", 1, "l2_bytes_per_s", "copies in memory"),
    ]
    for work, each, limit, by in works:
        if work in rates and limit in rates and each:
            yield Reached(limit, rates[work] / each / rates[limit], by)


def reached_by_run(
    bounds: tuple[Bound, ...], least_ms: float, measured_ms: float | None
) -> Iterator[Reached]:
    """Yield what a run did of each limit that its bounds follow from; `bounds` has the tallest first."""
    if measured_ms and bounds:
        by = "a run"
        for bound in bounds:
            yield Reached(_limit_of(bound), bound.ms / measured_ms, by)
        # Passes that follow one another may together exceed what none of them does.
        if bounds[0].ms <= MOST_SHARE * measured_ms:
            yield Reached(_limit_of(bounds[0]), least_ms / measured_ms, by)


def _limit_of(bound: Bound) -> str:
    return _LIMITS.get(bound.key, f"{bound.key.replace('-', '_')}_per_s")


def without_refuted(limits: DeviceLimits, reached: Iterable[Reached]) -> DeviceLimits:
    """Return the limits without those that were exceeded; the same limits where none was."""
    refuted: dict[str, str] = {}
    for one in sorted(reached, key=lambda one: -one.times):
        if one.times > MOST_SHARE and getattr(limits, one.limit) is not None:
            times = digits_text(one.times, 3)
            refuted.setdefault(one.limit, f"{one.by} did {times} times what was measured as the most")
    if not refuted:
        return limits
    copies = () if "copy_bytes_per_s" in refuted else limits.copies
    left_out = limits.left_out + tuple(refuted.items())
    return replace(limits, **dict.fromkeys(refuted), copies=copies, left_out=left_out)  # type: ignore[arg-type]


def left_out_words(limits: DeviceLimits) -> str:
    """Return which limits are left out and why, in sentences; empty where none is."""
    return " ".join(f"Left out: {limit_name(name)}, as {why}." for name, why in limits.left_out)


def limit_name(field: str) -> str:
    """Return the name of a limit for people."""
    return field.removesuffix("_per_s").replace("_", " ")
