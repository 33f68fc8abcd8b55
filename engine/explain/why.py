"""Why a run takes its time: the least time for each thing that it must do, and the reason in a sentence.

On the CPU amounts are those that the variant says its loops do (`engine.results.problem.LoopWork`), on a GPU
those counted of each launch (`engine.explain.counting`). Rates are those measured on the device.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from engine.device.device_list import cpu_info
from engine.device.launches import DeviceKind, Launch
from engine.device_info import AUTO, DeviceInfo
from engine.errors import Reason
from engine.explain import device_limits, instructions
from engine.explain.answers import requested_job
from engine.explain.code_lines import SAVES, paragraphs_of, story_of
from engine.explain.counting import BANKS, WORD_BYTES, CountedAccesses, CountedRun, counted_run
from engine.explain.device_limits import DeviceLimits, Limit
from engine.explain.kept_limits import keep, kept_limits, recorded_limits
from engine.explain.launches import ABSENT_GPUS, DEFAULT, SCHEDULERS, gpu_text, why_not_compiled
from engine.explain.messages import TimeRequest
from engine.host.request import answer
from engine.ptx.counts import SECTOR_BYTES
from engine.results.measurement import Bound, ExplainedTime
from engine.results.occupancy import WARP
from engine.results.problem import Checkpoint, LoopWork, Work, go_on
from engine.results.text_forms import count_text, digits_text, duration_text, percent_text, rate_text
from engine.run.task import AnyJob
from engine.run.variant import AnyVariant
from engine.tasks.registry import TASKS
from engine.variants.cpu.register_tiles import VECTOR
from engine.work.filter_task import MaskJob
from engine.work.filtering.planner import choose
from engine.work.problem import OperationProblem, Problem


@dataclass(frozen=True, eq=False)
class LeastTime:
    """What a run must do on a device of known limits, and the least time for that; a GPU need not be here."""

    job: AnyJob
    device: DeviceInfo
    limits: DeviceLimits
    in_turn: list[tuple[Bound, ...]]  # of each launch, or of each loop: they follow one another
    beside: list[Bound]  # of all of them together
    before: list[Bound]  # of a call, which comes before all that it does
    counted: CountedRun  # what launches do; where it is not counted, the bytes alone bound the run
    loops: tuple[LoopWork, ...] = ()  # on a processor, where they are ours
    checkpoint: Checkpoint = go_on

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """Of all that is done together, the tallest first."""
        by_key: dict[str, Bound] = {}
        for bound in (bound for bounds in self.in_turn for bound in bounds):
            by_key[bound.key] = by_key[bound.key] + bound if bound.key in by_key else bound
        for bound in (*self.beside, *self.before):
            if bound.key not in by_key or bound.ms > by_key[bound.key].ms:
                by_key[bound.key] = bound
        return tuple(sorted(by_key.values(), key=lambda bound: -bound.ms))

    @property
    def least_ms(self) -> float:
        """The least time: the tallest bounds of what follows one another add up."""
        in_turn = sum(max((bound.ms for bound in bounds), default=0.0) for bounds in self.in_turn)
        calls = sum(bound.ms for bound in self.before)
        return calls + max([in_turn, *(bound.ms for bound in self.beside)])


_ADDS = "multiply-adds"


def _bound(
    key: str, title: str, amount: float, unit: str, rate: float | None, source: str, uneven: float = 1.0
) -> list[Bound]:
    """Return the bound of so much work, `uneven` times the mean where most is; none without a rate."""
    if not rate or amount <= 0:
        return []
    return [Bound(key, title, 1e3 * amount * uneven / rate, amount, unit, rate, source)]


def _rate(limit: Limit | None, each: float = 1.0) -> float | None:
    return limit.measured / each if limit else None


def bound_launch(
    launch: Launch, counted: CountedAccesses, gpu: DeviceInfo, limits: DeviceLimits
) -> tuple[Bound, ...]:
    """Return the bounds of a counted launch on a GPU of known limits."""
    # How much more than the mean the busiest multiprocessor has to do, and its busiest scheduler: one has a
    # whole number of blocks, the other a whole number of warps.
    uneven = of_issue = 1.0
    if gpu.attributes and (multiprocessors := gpu.attributes.multiprocessors):
        most, warps = -(-launch.blocks // multiprocessors), -(-math.prod(launch.block) // WARP)
        mean = launch.blocks / multiprocessors
        uneven, of_issue = most / mean, -(-most * warps // SCHEDULERS) * SCHEDULERS / (mean * warps)
    moved, ptx = float(counted.launch_sectors * SECTOR_BYTES), "executed PTX"
    wavefronts = counted.of("global_accesses").transactions + counted.of("shared_accesses").wavefronts
    shared = _rate(limits.shared_bytes_per_s, BANKS * WORD_BYTES)
    issue, add = _rate(limits.instructions_per_s), _rate(limits.multiply_adds_per_s, WARP)
    tensor, issued = _rate(limits.int8_tensor_multiply_adds_per_s), "instructions"
    blocks, started = float(launch.blocks), _rate(limits.blocks_per_s)
    weights = instructions.issue_slots, instructions.multiply_adds, instructions.tensor_multiply_adds
    slots, added, products = map(counted.weighed, weights)
    return (
        *_bound("copy", "copy", moved, "bytes", limits.copy_rate(moved), ptx),
        *_bound("l1", "L1 and shared memory", wavefronts, "wavefronts", shared, ptx, uneven),
        *_bound(issued, "instructions issued", slots, issued, issue, ptx, of_issue),
        *_bound(_ADDS, _ADDS, added, issued, add, ptx, of_issue),
        *_bound("int8-tensor", "tensor cores, int8", products, _ADDS, tensor, ptx, uneven),
        *_bound("blocks", "blocks started", blocks, "blocks", started, "the grid"),
        *_bound("launch", "launch", 1.0, "launches", _rate(limits.launches_per_s), "the plan"),
    )


def gpu_time(job: AnyJob, gpu: DeviceInfo, limits: DeviceLimits, checkpoint: Checkpoint) -> LeastTime:
    """Return the bounds of a job on a GPU, which need not be here."""
    counted = counted_run(job, checkpoint)
    in_turn = [
        bound_launch(step.launch, accesses, gpu, limits)
        for step, accesses in zip(job.passes if counted.passes else (), counted.passes, strict=True)
    ]
    beside = list[Bound]()
    if job.work is not None:
        # The model of work knows no code, but every multiply-add.
        source, size = "the model of work", float(job.work.minimum_bytes)
        beside = _bound("copy", "copy", size, "bytes", limits.copy_rate(size), source)
        spellings = chain(*(launch.executed for launch in counted.passes))
        if counted.passes and not any(map(instructions.is_tensor, spellings)):
            rate = _rate(limits.multiply_adds_per_s)
            beside += _bound(_ADDS, _ADDS, work_multiply_adds(job), _ADDS, rate, source)
    return LeastTime(job, gpu, limits, in_turn, beside, [], counted, checkpoint=checkpoint)


def work_multiply_adds(job: AnyJob) -> float:
    """Return those of the model of work; none of an operation: its steps are others, such as comparisons."""
    return 0.0 if job.work is None or job.problem.task == OperationProblem.task else job.work.flops / 2


def cpu_time(job: MaskJob, limits: DeviceLimits) -> LeastTime:
    """Return the bounds of a job on a processor of known limits."""
    library, problem = job.variant.library, job.problem
    prepared = None if library else job.prepare()
    size = problem.samples * (problem.itemsize + problem.result_itemsize)
    once = "the picture read once and the result written once"
    copy = _bound("copy", "copy", size, "bytes", limits.copy_rate(size), once)
    loops: tuple[LoopWork, ...] = getattr(prepared, "loops", ())
    calls, share = list[Bound](), 1.0
    if loops:
        workers: int = getattr(prepared, "workers", limits.cores)
        beside = "a call beside the work of each thread"
        calls = _bound("launch", "call", 1, "calls", _rate(limits.launches_per_s), beside)
        if workers < limits.cores:
            # The part of the rates of all cores that so many threads have.
            one, together = limits.core_multiply_adds_per_s, limits.multiply_adds_per_s
            of_core = one.measured / together.measured if one and together else 1.0
            share = min(1.0, workers * of_core)
    in_turn = [_of_loop(one, problem, limits, share) for one in loops]
    reason = Reason("no-kernels", f"What {library} does is not counted") if library else None
    return LeastTime(job, cpu_info(), limits, in_turn, copy, calls, CountedRun(not_counted=reason), loops)


def _of_loop(one: LoopWork, problem: Problem, limits: DeviceLimits, share: float) -> tuple[Bound, ...]:
    """Return the bounds of a loop by threads that have a share of the rates of all cores."""
    samples, vectors = problem.samples, problem.samples / VECTOR

    def bound(key: str, title: str, amount: float, unit: str, limit: Limit | None) -> list[Bound]:
        rate = limit.measured * share if limit else None
        return _bound(key, title, amount, unit, rate, "what the variant says of its loops")

    scalar, converted = samples * one.scalar_multiply_adds, samples * one.converted_multiply_adds
    operations, of_vectors = vectors * (one.multiply_adds + one.operations), limits.vector_operations_per_s
    rates = limits.scalar_multiply_adds_per_s, limits.converted_multiply_adds_per_s
    stores, loads = limits.vector_stores_per_s, limits.vector_loads_per_s
    return (
        *bound(f"scalar-{_ADDS}", f"{_ADDS} one at a time", scalar, _ADDS, rates[0]),
        *bound(f"converted-{_ADDS}", f"{_ADDS} of integers one at a time", converted, _ADDS, rates[1]),
        *bound(_ADDS, _ADDS, samples * one.multiply_adds, _ADDS, limits.multiply_adds_per_s),
        *bound("stores", "stores in the first cache", vectors * one.stores, "vectors", stores),
        *bound("vector-operations", "vector operations", operations, "operations", of_vectors),
        *bound("loads", "loads from the first cache", vectors * one.loads, "vectors", loads),
    )


LEAST_SHARE = 0.5
"""Bounds that reach less of the time do not explain it."""


def explained_time(
    job: AnyJob, device: DeviceInfo, measured_ms: float | None = None, checkpoint: Checkpoint = go_on
) -> ExplainedTime:
    """Return why a job takes its time on a device; `not_explained` says why there are no bounds.

    It compiles, but starts no device, and a GPU need not be here. `checkpoint` is called again and again;
    what it raises ends it.
    """
    limits = limits_of(device)
    if limits is not None:
        explained, left = explained_by(job, device, limits, measured_ms, checkpoint)
        if left is not limits and device.available:
            # Measured again, and left out from now on where the run exceeds it again.
            limits = limits.or_more(answer(device_limits.MeasureLimits(device.key), checkpoint))
            explained, left = explained_by(job, device, limits, measured_ms, checkpoint)
            keep(device, left)
        return explained
    title, remedy = "the CPU", "`devices --measure` measures them in 2 s, and they are kept."
    if job.variant.device is DeviceKind.CUDA:
        title = gpu_text(device)
        remedy = remedy if device.available else "They are measured where there is such a GPU."
    short = f"The limits of {title} are not known"
    return ExplainedTime(title, not_explained=Reason("not-measured", short, remedy=remedy))


def limits_of(device: DeviceInfo) -> DeviceLimits | None:
    """Return the limits of a device as far as they were measured.

    Those of a GPU that is not here are the recorded ones, where it is of the same architecture.
    """
    if device.available:
        return kept_limits(device)
    return recorded_limits() if device is ABSENT_GPUS[DEFAULT] else None


def explained_by(
    job: AnyJob, device: DeviceInfo, limits: DeviceLimits, measured_ms: float | None,
    checkpoint: Checkpoint = go_on,
) -> tuple[ExplainedTime, DeviceLimits]:  # fmt: skip
    """Return the same on a device of these limits, and those that it rests on: the run exceeded no other."""
    is_on_gpu = job.variant.device is DeviceKind.CUDA
    if is_on_gpu and (not_compiled := why_not_compiled()) is not None:
        return ExplainedTime(limits.device, not_explained=not_compiled), limits
    while True:
        time = gpu_time(job, device, limits, checkpoint) if is_on_gpu else cpu_time(job, limits)
        reached = device_limits.reached_by_run(time.bounds, time.least_ms, measured_ms)
        left = device_limits.without_refuted(limits, reached)
        if left is limits:
            break
        limits = left
    share, not_counted = time.least_ms / measured_ms if measured_ms else None, time.counted.not_counted
    part = duration_text(time.least_ms) if share is None else f"{percent_text(min(1.0, share))} of the time"
    reason, remedy = not_counted if share is None else None, ""
    if not time.bounds:
        again = "`devices --measure` measures them again."
        reason = Reason("limits-left-out", "Not explained: no limit is left", remedy=again)
    if reason is not None:
        sentence = str(reason)
    elif share is not None and share < LEAST_SHARE:
        reason = Reason("bounds-too-low", f"Bounds reach {percent_text(share)} of the time")
        sentence = (
            f"Most of what is counted goes into {time.bounds[0].title}: at least {part}; what takes the "
            f"rest is not known. {not_counted or ''}"
        ).rstrip()
    else:
        what, removed_by, remedy = gpu_cause(time) if is_on_gpu else cpu_cause(time)
        sentence = f"{what}. That takes at least {part}. {removed_by}."
    if left_out := device_limits.left_out_words(limits):
        sentence = f"{sentence.rstrip('.')}. {left_out}"
    times, each = (time.bounds, time.least_ms, measured_ms), time.counted.transactions_per_request
    saves = "".join(paragraphs_of(story_of(job.variant).part(SAVES))[:1])
    return ExplainedTime(limits.device, *times, sentence, remedy, each, saves, reason), limits


def answer_time(request: TimeRequest, report: Checkpoint) -> ExplainedTime:
    """Return the bounds of a job and what they say, or why there are none."""
    return explained_time(*requested_job(request.job), request.measured_ms, report)


Cause = tuple[str, str, str]
"""What bounds a run, what removes that, and the key of the variant that does; empty where none does."""
_FEWER = 0.5
"""A variant removes a limit that does at most this part of what is done too often."""
_FASTER = 0.8
"""And its own bounds are at most this part."""
_CONFLICTS = 1.2
"""Wavefronts of a request to shared memory that are not one of bank conflicts yet."""


def gpu_cause(time: LeastTime) -> Cause:
    """Return what the bounds give as the cause of the time, and the variant that removes it."""
    bound, results, adds = time.bounds[0], time.job.problem.values, work_multiply_adds(time.job)
    match bound.key:
        case "copy":
            what = f"Memory-bound: {_short(bound.amount / 1e6)} MB at {_short(bound.per_s / 1e9)} GB/s"
            if len(time.in_turn) > 1:
                return what, *_fewer(time, _BYTES)
            return what, "Every sample moves once: only smaller types of samples would take less", ""
        case "instructions":
            of_what, count = ("multiply-add", adds) if adds else ("result", float(results))
            issued, wide = (
                WARP * sum(one.weighed(weigh) for one in time.counted.passes)
                for weigh in (instructions.issue_slots, instructions.on_64_bit)
            )
            of_them = f", {_short(wide / count)} of them on 64-bit integers" if wide > issued / 10 else ""
            what = f"Issue-bound: {_short(issued / count)} instructions per {of_what}{of_them}"
            return what, *_fewer(time, _PICTURE, _LOADS, _GLOBAL, _FLOPS)
        case "multiply-adds":
            what = f"Compute-bound: {_short(adds / results)} multiply-adds per result"
            return what, *_fewer(time, _FLOPS, _PICTURE, _LOADS)
        case "int8-tensor":
            what = f"Bound by tensor cores: {_short(bound.amount / 1e9)} · 10⁹ multiply-adds"
            return what, *_fewer(time, _FLOPS)
        case "blocks":
            what = f"Bound by starting {count_text(bound.amount)} blocks, {_short(bound.per_s / 1e6)} per µs"
            return f"{what} at most", "A larger block starts fewer", ""
        case "launch":
            times = "a launch" if bound.amount == 1 else f"{_short(bound.amount)} launches, each"
            what = f"Bound by {times} of {_short(1e6 / bound.per_s)} µs: the picture is small"
            return what, "A larger picture, or several at once, uses the GPU", ""
    requests, shared = time.counted.total("global_accesses"), time.counted.total("shared_accesses")
    of_request = requests.transactions_per_request or 0.0
    if (better := _coalesced(time, of_request)) is not None:
        what = f"Bound by L1: a request takes {_short(of_request)} transactions"
        return f"{what}, because neighbouring threads read lines far apart", *better
    conflicts = shared.wavefronts_per_request or 0.0
    if shared.wavefronts > requests.transactions and conflicts > _CONFLICTS:
        what = f"Bound by shared memory: {_short(conflicts)} wavefronts per request, of bank conflicts"
        return what, "A block of whole warps side by side (32 × …) has fewer", ""
    accesses = (requests.requests + shared.requests) * WARP / results
    what = f"Bound by L1 and shared memory: {_short(accesses)} accesses per result"
    return what, *_fewer(time, _PICTURE, _LOADS, _GLOBAL, _FLOPS)


# What a variant could do less of: how much of it there is, a verb, and what it is.
_Cost = tuple[Callable[[Work], float], str, str]
_PICTURE: _Cost = lambda work: work.picture_loads, "reads", "cells per result"
_GLOBAL: _Cost = lambda work: work.global_loads, "loads", "values per result from global memory"
_FLOPS: _Cost = lambda work: work.flops / 2, "makes", "multiply-adds per result"
_BYTES: _Cost = lambda work: work.global_load_bytes + work.global_store_bytes, "moves", "bytes per result"
_BOTH = "values per result from global and shared memory"
_LOADS: _Cost = lambda work: work.global_loads + work.shared_loads, "loads", _BOTH


def _fewer(time: LeastTime, *costs: _Cost) -> tuple[str, str]:
    """Return what the nearest variant in teaching order does much less of, and its key."""
    values, own = time.job.problem.values, time.job.work
    for amount, verb, what in costs:
        ours = amount(own) / values if own else 0.0
        for other in _others(time) if ours else ():
            its, key = amount(other.work) / values if other.work else math.inf, other.variant.key
            if its > _FEWER * ours:
                continue
            # Its own bounds are well below these, too; it is counted for that.
            least = gpu_time(other, time.device, time.limits, time.checkpoint)
            if least.in_turn and least.least_ms <= _FASTER * time.least_ms:
                return f"`{key}` {verb} {_short(its)} instead of {_short(ours)} {what}", key
    return "No variant does much less of it", ""


def _others(time: LeastTime) -> Iterator[AnyJob]:
    """Yield the job by each variant that can do it on that GPU, the nearest in teaching order first."""
    job, every = time.job, list[AnyVariant](TASKS[time.job.variant.task].variants)
    at = every.index(job.variant) if job.variant in every else -1
    # Those after it come before those as far from it before it.
    for _, variant in sorted(enumerate(every), key=lambda pair: abs(pair[0] - at - 0.25)):
        block = variant.default_block
        is_other = variant.has_kernels and variant is not job.variant
        if is_other and variant.why_not(job.problem, job.constant, block, time.device.limits) is None:
            yield replace(job, variant=variant, block=block)


def _coalesced(time: LeastTime, each: float) -> tuple[str, str] | None:
    """Return a variant that loads as much by far fewer transactions."""
    ours = time.job.work
    for other in _others(time):
        if other.work is None or ours is None or other.work.global_loads != ours.global_loads:
            continue
        its = counted_run(other, time.checkpoint).transactions_per_request
        if its is not None and its <= _FEWER * each:
            return f"`{other.variant.key}` loads the same with {_short(its)}", other.variant.key
    return None


def _short(value: float) -> str:
    return rate_text(float(f"{value:.3g}"))


def cpu_cause(time: LeastTime) -> Cause:
    """Return what the bounds give as the cause of the time, and the variant that removes it."""
    job, bound, vector = time.job, time.bounds[0], time.limits.vector_bits // 32
    each = bound.amount / job.problem.samples
    words = _WORDS[bound.key].format(
        megabytes=_count(bound.amount / 1e6),
        rate=_count(bound.per_s / 1e9),
        each=_count(each),
        us=_count(1e3 * bound.ms),
        of_vector=f"{_count(each * vector)} for {vector} results",
    )
    best = choose(AUTO, job.problem, job.constant, None, time.device).variant
    if best is job.variant:
        return f"Bound by {words}", "No variant on the CPU is expected to take less", ""
    # What it does less of.
    works = [one.work(job.problem, one.block_for(None)) for one in (job.variant, best)]
    ours, its = (work.flops / 2 / job.problem.samples if work else 0.0 for work in works)
    less = "is expected to take less"
    if time.loops and not any(one.multiply_adds or one.operations for one in time.loops):
        cores = f", on {time.limits.cores} cores" if time.limits.cores > 1 else ""
        less = f"computes {vector} results with an instruction{cores}"
    elif its < ours:
        less = f"makes {_count(its)} instead of {_count(ours)} multiply-adds for each result"
    return f"Bound by {words}", f"`{best.key}` {less}", best.key


def _count(value: float) -> str:
    return digits_text(value, 3).removesuffix(".0") if value < 100 else digits_text(value, 3)


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
