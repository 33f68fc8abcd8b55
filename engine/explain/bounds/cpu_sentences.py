"""The reason for the time of a filter on the CPU, in a sentence, from its bounds."""

from collections.abc import Callable
from typing import Any

from engine.device.device_list import cpu_info
from engine.device_info import AUTO
from engine.explain.bounds.cpu_bounds import CpuBounds
from engine.explain.bounds.least_time import Cause
from engine.explain.subject import Subject
from engine.results.measurement import Bound
from engine.results.quantities import digits_text
from engine.run.variant import AnyVariant
from engine.work.filtering.auto.planner import choose
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import Variant


def cpu_cause(found: CpuBounds) -> Cause:
    """Return what the bounds give as the cause of the time, and the variant that removes it."""
    subject, tallest = found.subject, found.bounds[0]
    what = _WORDS[tallest.key](tallest, subject, found.limits.vector_bits // 32)
    best = choose(AUTO, subject.problem, subject.constant, None, cpu_info()).variant
    if best is subject.variant:
        return Cause(what, "No variant on the CPU is expected to take less")
    return Cause(what, _removes(best, found), best.key)


def _removes(best: Variant, found: CpuBounds) -> str:
    """Return what the best variant does less of."""
    subject, limits = found.subject, found.limits
    samples = subject.problem.samples
    if found.loops and not found.whole_vectors:
        at_once = limits.vector_bits // 32
        cores = f", on {limits.cores} cores" if limits.cores > 1 else ""
        return f"`{best.key}` computes {at_once} results with an instruction{cores}"
    ours, its = _made(subject.variant, subject) / samples, _made(best, subject) / samples
    if its < ours:
        return f"`{best.key}` makes {_count(its)} instead of {_count(ours)} multiply-adds for each result"
    return f"`{best.key}` is expected to take less"


def _made(one: AnyVariant[Problem, Any], subject: Subject[Problem]) -> float:
    """Return the multiply-adds of a variant, by its model of work."""
    work = one.work(subject.problem, one.block_for(None))
    return work.flops / 2 if work else 0.0


def _copy(bound: Bound, subject: Subject[Problem], vector: int) -> str:
    megabytes, rate = _count(bound.amount / 1e6), _count(bound.per_s / 1e9)
    return f"Bound by memory, {megabytes} MB read and written at {rate} GB/s at most"


def _multiply_adds(bound: Bound, subject: Subject[Problem], vector: int) -> str:
    return f"Bound by multiply-adds, {_count(bound.amount / subject.problem.samples)} for each result"


def _one_at_a_time(bound: Bound, subject: Subject[Problem], vector: int) -> str:
    each = _count(bound.amount / subject.problem.samples)
    return f"Bound by multiply-adds one at a time, {each} for each result"


def _of_integers(bound: Bound, subject: Subject[Problem], vector: int) -> str:
    return f"{_one_at_a_time(bound, subject, vector)}, of samples that are made float32"


def _call(bound: Bound, subject: Subject[Problem], vector: int) -> str:
    return f"Bound by the call, {_count(1e3 * bound.ms)} µs before anything is computed"


def _shared_call(bound: Bound, subject: Subject[Problem], vector: int) -> str:
    return f"{_call(bound, subject, vector)} by all cores"


def _per_vector(words: str) -> Callable[[Bound, Subject[Problem], int], str]:
    def said(bound: Bound, subject: Subject[Problem], vector: int) -> str:
        each = _count(bound.amount / subject.problem.samples * vector)
        return f"Bound by {words}, {each} for {vector} results"

    return said


def _count(value: float) -> str:
    return digits_text(value, 3).removesuffix(".0") if value < 100 else digits_text(value, 3)


_WORDS: dict[str, Callable[[Bound, Subject[Problem], int], str]] = {
    "copy": _copy,
    "multiply-adds": _multiply_adds,
    "scalar-multiply-adds": _one_at_a_time,
    "converted-multiply-adds": _of_integers,
    "short-scalar-multiply-adds": _one_at_a_time,
    "short-converted-multiply-adds": _of_integers,
    "launch": _call,
    "shared-launch": _shared_call,
    "vector-operations": _per_vector("operations on whole vectors"),
    "loads": _per_vector("loads of vectors from the first cache"),
    "stores": _per_vector("stores of vectors into the first cache"),
}
