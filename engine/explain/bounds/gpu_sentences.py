"""The reason for the time of a run on a GPU, in a sentence: its tallest limit, and what removes it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from engine.explain.bounds.gpu_bounds import GpuTime, gpu_time, issue_slots, on_64_bit, work_multiply_adds
from engine.explain.bounds.least_time import Cause
from engine.explain.counts.accesses import WARP
from engine.explain.counts.counting import counted_launches
from engine.results.measurement import Bound
from engine.results.quantities import count_text, rate_text
from engine.results.work import Work
from engine.run.variant import AnyVariant
from engine.tasks.registry import TASKS

_FEWER = 0.5
"""A variant removes a limit that does at most this part of what is done too often."""
_FASTER = 0.8
"""And its own bounds are at most this part."""
_CONFLICTS = 1.2
"""Wavefronts of a request to shared memory that are not one of bank conflicts yet."""


def gpu_cause(time: GpuTime) -> Cause:
    """Return what the bounds give as the cause of the time, and the variant that removes it."""
    tallest = time.bounds[0]
    return _CAUSES[tallest.key](time, tallest)


def _instructions(time: GpuTime, bound: Bound) -> Cause:
    of_what, count = "multiply-add", work_multiply_adds(time.subject)
    if not count:
        of_what, count = "result", float(time.subject.problem.values)
    issued, wide = time.executed(issue_slots), time.executed(on_64_bit)
    of_them = f", {_short(wide / count)} of them on 64-bit integers" if wide > issued / 10 else ""
    what = f"Issue-bound: {_short(issued / count)} instructions per {of_what}{of_them}"
    return Cause(what, *_fewer(time, _PICTURE, _LOADS, _GLOBAL, _FLOPS))


def _multiply_adds(time: GpuTime, bound: Bound) -> Cause:
    adds = work_multiply_adds(time.subject) / time.subject.problem.values
    what = f"Compute-bound: {_short(adds)} multiply-adds per result"
    return Cause(what, *_fewer(time, _FLOPS, _PICTURE, _LOADS))


def _tensor(time: GpuTime, bound: Bound) -> Cause:
    return Cause(
        f"Bound by tensor cores: {_short(bound.amount / 1e9)} · 10⁹ multiply-adds", *_fewer(time, _FLOPS)
    )


def _copy(time: GpuTime, bound: Bound) -> Cause:
    what = f"Memory-bound: {_short(bound.amount / 1e6)} MB at {_short(bound.per_s / 1e9)} GB/s"
    if len(time.in_turn) > 1:
        return Cause(what, *_fewer(time, _BYTES))
    return Cause(what, "Every sample moves once: only smaller types of samples would take less")


def _l1(time: GpuTime, bound: Bound) -> Cause:
    requests, shared = time.counted.total("global_accesses"), time.counted.total("shared_accesses")
    of_request = requests.transactions_per_request or 0.0
    better = _coalesced(time, of_request)
    if better is not None:
        what = f"Bound by L1: a request takes {_short(of_request)} transactions"
        return Cause(f"{what}, because neighbouring threads read lines far apart", *better)
    conflicts = shared.wavefronts_per_request or 0.0
    if shared.wavefronts > requests.transactions and conflicts > _CONFLICTS:
        what = f"Bound by shared memory: {_short(conflicts)} wavefronts per request, of bank conflicts"
        return Cause(what, "A block of whole warps side by side (32 × …) has fewer")
    accesses = (requests.requests + shared.requests) * WARP / time.subject.problem.values
    what = f"Bound by L1 and shared memory: {_short(accesses)} accesses per result"
    return Cause(what, *_fewer(time, _PICTURE, _LOADS, _GLOBAL, _FLOPS))


def _blocks(time: GpuTime, bound: Bound) -> Cause:
    rate = f"{_short(bound.per_s / 1e6)} per µs at most"
    return Cause(
        f"Bound by starting {count_text(bound.amount)} blocks, {rate}", "A larger block starts fewer"
    )


def _launch(time: GpuTime, bound: Bound) -> Cause:
    each = f"{_short(1e6 / bound.per_s)} µs"
    times = "a launch" if bound.amount == 1 else f"{_short(bound.amount)} launches, each"
    return Cause(
        f"Bound by {times} of {each}: the picture is small",
        "A larger picture, or several at once, uses the GPU",
    )


_CAUSES: dict[str, Callable[[GpuTime, Bound], Cause]] = {
    "copy": _copy,
    "l1": _l1,
    "instructions": _instructions,
    "multiply-adds": _multiply_adds,
    "int8-tensor": _tensor,
    "float16-tensor": _tensor,
    "blocks": _blocks,
    "launch": _launch,
}


class _Cost(NamedTuple):
    """What a variant could do less of, per result."""

    of: Callable[[Work], float]
    verb: str
    what: str


_PICTURE = _Cost(lambda work: work.picture_loads, "reads", "cells per result")
_LOADS = _Cost(
    lambda work: work.global_loads + work.shared_loads,
    "loads",
    "values per result from global and shared memory",
)
_GLOBAL = _Cost(lambda work: work.global_loads, "loads", "values per result from global memory")
_FLOPS = _Cost(lambda work: work.flops / 2, "makes", "multiply-adds per result")
_BYTES = _Cost(lambda work: work.global_load_bytes + work.global_store_bytes, "moves", "bytes per result")


def _fewer(time: GpuTime, *costs: _Cost) -> tuple[str, str]:
    """Return what the nearest variant in teaching order does much less of, and its key."""
    values = time.subject.problem.values
    for cost in costs:
        ours = cost.of(time.subject.work) / values if time.subject.work else 0.0
        for variant in _others(time) if ours else ():
            work = variant.work(time.subject.problem, variant.default_block)
            if work is not None and cost.of(work) / values <= _FEWER * ours and _is_faster(time, variant):
                its = _short(cost.of(work) / values)
                return f"`{variant.key}` {cost.verb} {its} instead of {_short(ours)} {cost.what}", variant.key
    return "No variant does much less of it", ""


def _others(time: GpuTime) -> Iterator[AnyVariant[Any, Any]]:
    """Yield the variants that can do it on that GPU, the nearest in teaching order first."""
    subject = time.subject
    assert subject.gpu is not None
    every: list[AnyVariant[Any, Any]] = list(TASKS[subject.variant.task].variants)
    at = every.index(subject.variant) if subject.variant in every else -1
    # Those after it come before those as far from it before it.
    for variant in sorted(every, key=lambda other: abs(every.index(other) - at - 0.25)):
        block = variant.default_block
        if variant.has_kernels and variant is not subject.variant:
            refusal = variant.why_not(subject.problem, subject.constant, block, subject.gpu.limits)
            if refusal is None:
                yield variant


def _is_faster(time: GpuTime, variant: AnyVariant[Any, Any]) -> bool:
    """Return whether the bounds of another variant are well below these; it is counted for that."""
    subject = replace(time.subject, variant=variant, block=variant.default_block)
    its = gpu_time(subject, time.limits, time.checkpoint, time.buffers)
    return bool(its.in_turn) and its.least_ms <= _FASTER * time.least_ms


def _coalesced(time: GpuTime, each: float) -> tuple[str, str] | None:
    """Return a variant that loads as much by far fewer transactions."""
    subject, ours = time.subject, time.subject.work
    for variant in _others(time):
        work = variant.work(subject.problem, variant.default_block)
        if work is None or ours is None or work.global_loads != ours.global_loads:
            continue
        run = counted_launches(
            variant, subject.problem, subject.constant, variant.default_block, time.buffers, time.checkpoint
        )
        its = run.transactions_per_request
        if its is not None and its <= _FEWER * each:
            return f"`{variant.key}` loads the same with {_short(its)}", variant.key
    return None


def _short(value: float) -> str:
    return rate_text(float(f"{value:.3g}"))
