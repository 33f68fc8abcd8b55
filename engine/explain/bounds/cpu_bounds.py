"""Lower bounds of a filter on the CPU: the least time for each thing that it must do.

Limits are those of this processor (`engine.explain.limits.measured_cpu`), amounts those that the variant says
its loops do (`engine.results.problem.LoopWork`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.device.device_list import cpu_info
from engine.device_info import AUTO
from engine.errors import Reason
from engine.explain.bounds.least_time import Cause, LeastTime
from engine.explain.limits.device_limits import DeviceLimits
from engine.results.measurement import Bound
from engine.results.problem import HasLoops, LoopWork
from engine.results.text_forms import digits_text
from engine.variants.cpu.register_tiles import VECTOR
from engine.work.filter_task import MaskJob
from engine.work.filtering.auto.planner import choose
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import Variant

_DECLARED = "what the variant says of its loops"

# Fields of `LoopWork`, and what their bounds say of the samples and sums.
_ONE_AT_A_TIME = {
    "scalar_multiply_adds": "",
    "converted_multiply_adds": "of integers ",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class CpuTime(LeastTime):
    """What a variant must do on a processor: its loops, where they are ours."""

    loops: tuple[LoopWork, ...] = ()


def cpu_time(job: MaskJob, limits: DeviceLimits) -> CpuTime:
    """Return the bounds of a job on a processor of known limits."""
    library, problem = job.variant.library, job.problem
    prepared: object = None
    if not library:
        prepared = job.task.prepare(job)
    loops: tuple[LoopWork, ...] = ()
    calls: tuple[Bound, ...] = ()
    share = 1.0
    if isinstance(prepared, HasLoops):
        loops, calls = prepared.loops, _calls(limits)
        share = _share(limits, prepared.workers)
    return CpuTime(
        job=job,
        limits=limits,
        in_turn=tuple(tuple(_of_loop(one, problem, limits, share)) for one in loops),
        beside=_copies(problem, limits),
        before=calls,
        not_counted=Reason("no-kernels", f"What {library} does is not counted") if library else None,
        loops=loops,
    )


def _copies(problem: Problem, limits: DeviceLimits) -> tuple[Bound, ...]:
    size = problem.samples * (problem.itemsize + problem.result_itemsize)
    rate = limits.copy_rate(size)
    source = "the picture read once and the result written once"
    return (Bound("copy", "copy", 1e3 * size / rate, size, "bytes", rate, source),) if rate else ()


def _calls(limits: DeviceLimits) -> tuple[Bound, ...]:
    calls, source = limits.launches_per_s, "a call beside the work of each thread"
    return (
        (Bound("launch", "call", 1e3 / calls.measured, 1, "calls", calls.measured, source),) if calls else ()
    )


def _of_loop(one: LoopWork, problem: Problem, limits: DeviceLimits, share: float) -> Iterator[Bound]:
    """Yield the bounds of a loop by threads that have a share of the rates of all cores."""
    samples, vectors = problem.samples, problem.samples / VECTOR
    amounts = [
        (name.replace("_", "-"), f"multiply-adds {of_what}one at a time", samples * getattr(one, name),
         "multiply-adds", getattr(limits, f"{name}_per_s"))
        for name, of_what in _ONE_AT_A_TIME.items()
    ] + [
        ("multiply-adds", "multiply-adds", samples * one.multiply_adds, "multiply-adds",
         limits.multiply_adds_per_s),
        ("stores", "stores in the first cache", vectors * one.stores, "vectors", limits.vector_stores_per_s),
        ("vector-operations", "vector operations", vectors * (one.multiply_adds + one.operations),
         "operations", limits.vector_operations_per_s),
        ("loads", "loads from the first cache", vectors * one.loads, "vectors", limits.vector_loads_per_s),
    ]  # fmt: skip
    for key, title, amount, unit, limit in amounts:
        if limit is not None and amount > 0:
            rate = limit.measured * share
            yield Bound(key, title, 1e3 * amount / rate, amount, unit, rate, _DECLARED)


def _share(limits: DeviceLimits, threads: int) -> float:
    """Return the part of the rates of all cores that so many threads have."""
    if threads >= limits.cores:
        return 1.0
    one, together = limits.core_multiply_adds_per_s, limits.multiply_adds_per_s
    return min(1.0, threads * (one.measured / together.measured if one and together else 1.0))


def cpu_cause(found: CpuTime) -> Cause:
    """Return what the bounds give as the cause of the time, and the variant that removes it."""
    job, tallest = found.job, found.bounds[0]
    what = f"Bound by {_words(tallest, job.problem.samples, found.limits.vector_bits // 32)}"
    best = choose(AUTO, job.problem, job.constant, None, cpu_info()).variant
    if best is job.variant:
        return Cause(what, "No variant on the CPU is expected to take less")
    return Cause(what, _removes(best, found), best.key)


def _removes(best: Variant, found: CpuTime) -> str:
    """Return what the best variant does less of."""
    job, limits = found.job, found.limits
    samples = job.problem.samples
    uses_vectors = any(one.multiply_adds or one.operations for one in found.loops)
    if found.loops and not uses_vectors:
        at_once = limits.vector_bits // 32
        cores = f", on {limits.cores} cores" if limits.cores > 1 else ""
        return f"`{best.key}` computes {at_once} results with an instruction{cores}"
    ours, its = _made(job.variant, job) / samples, _made(best, job) / samples
    if its < ours:
        return f"`{best.key}` makes {_count(its)} instead of {_count(ours)} multiply-adds for each result"
    return f"`{best.key}` is expected to take less"


def _made(one: Variant, job: MaskJob) -> float:
    """Return the multiply-adds of a variant, by its model of work."""
    work = one.work(job.problem, one.block_for(None))
    return work.flops / 2 if work else 0.0


def _count(value: float) -> str:
    return digits_text(value, 3).removesuffix(".0") if value < 100 else digits_text(value, 3)


def _words(bound: Bound, samples: float, vector: int) -> str:
    """Return what bounds a run, whose vectors have so many elements."""
    return _WORDS[bound.key].format(
        megabytes=_count(bound.amount / 1e6),
        rate=_count(bound.per_s / 1e9),
        each=_count(bound.amount / samples),
        us=_count(1e3 * bound.ms),
        of_vector=f"{_count(bound.amount / samples * vector)} for {vector} results",
    )


_ONE = "multiply-adds one at a time, {each} for each result"
_WORDS = {
    "copy": "memory, {megabytes} MB read and written at {rate} GB/s at most",
    "multiply-adds": "multiply-adds, {each} for each result",
    "scalar-multiply-adds": _ONE,
    "converted-multiply-adds": f"{_ONE}, of samples that are made float32",
    "launch": "the call, {us} µs before anything is computed",
    "vector-operations": "operations on whole vectors, {of_vector}",
    "loads": "loads of vectors from the first cache, {of_vector}",
    "stores": "stores of vectors into the first cache, {of_vector}",
}
