"""Why a run takes its time: its bounds on a device of known limits, and the reason in a sentence."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.device.device_list import cpu_info
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, WARP, DeviceInfo
from engine.errors import Reason
from engine.explain.answers import asked_job
from engine.explain.bounds import GpuTime, LeastTime, cpu_time, gpu_time, work_multiply_adds
from engine.explain.code_lines import SAVES, paragraphs_of, story_of
from engine.explain.counting import counted_run
from engine.explain.device_limits import (
    DeviceLimits,
    MeasureLimits,
    left_out_words,
    reached_by_run,
    without_refuted,
)
from engine.explain.instructions import issue_slots, on_64_bit
from engine.explain.kept_limits import keep, kept_limits, recorded_limits
from engine.explain.launches import ABSENT_GPUS, DEFAULT, gpu_text, why_not_compiled
from engine.explain.messages import TimeRequest
from engine.host.request import answer
from engine.results.measurement import ExplainedTime
from engine.results.problem import Checkpoint, Work, go_on
from engine.results.text_forms import count_text, digits_text, duration_text, percent_text, rate_text
from engine.run.task import AnyJob
from engine.run.variant import AnyVariant
from engine.tasks.registry import TASKS
from engine.work.filtering.planner import choose

LEAST_SHARE = 0.5
"""Bounds that reach less of the time do not explain it."""
RECORDED_ARCHITECTURE = DEFAULT
"""That of the GPU whose runs and limits came with the program."""


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
            limits = limits.or_more(answer(MeasureLimits(device.key), checkpoint))
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
    return recorded_limits() if device is ABSENT_GPUS[RECORDED_ARCHITECTURE] else None


def explained_by(
    job: AnyJob,
    device: DeviceInfo,
    limits: DeviceLimits,
    measured_ms: float | None,
    checkpoint: Checkpoint = go_on,
) -> tuple[ExplainedTime, DeviceLimits]:
    """Return the same on a device of these limits, and those that it rests on: the run exceeded no other."""
    is_on_gpu = job.variant.device is DeviceKind.CUDA
    if is_on_gpu and (not_compiled := why_not_compiled()) is not None:
        return ExplainedTime(limits.device, not_explained=not_compiled), limits
    while True:
        found = gpu_time(job, device, limits, checkpoint) if is_on_gpu else cpu_time(job, limits)
        left = without_refuted(limits, reached_by_run(found.bounds, found.least_ms, measured_ms))
        if left is limits:
            break
        limits = left
    share = found.least_ms / measured_ms if measured_ms else None
    part = duration_text(found.least_ms)
    if share is not None:
        part = f"{percent_text(min(1.0, share))} of the time"
    reason, remedy = found.not_counted if share is None else None, ""
    if not found.bounds:
        again = "`devices --measure` measures them again."
        reason = Reason("limits-left-out", "Not explained: no limit is left", remedy=again)
    if reason is not None:
        sentence = str(reason)
    elif share is not None and share < LEAST_SHARE:
        reason = Reason("bounds-too-low", f"Bounds reach {percent_text(share)} of the time")
        sentence = (
            f"Most of what is counted goes into {found.bounds[0].title}: at least {part}; what takes the "
            f"rest is not known. {found.not_counted or ''}"
        ).rstrip()
    else:
        what, removed_by, remedy = gpu_cause(found) if isinstance(found, GpuTime) else cpu_cause(found)
        sentence = f"{what}. That takes at least {part}. {removed_by}."
    if left_out := left_out_words(limits):
        sentence = f"{sentence.rstrip('.')}. {left_out}"
    explained = ExplainedTime(
        limits.device,
        found.bounds,
        found.least_ms,
        measured_ms,
        sentence,
        remedy,
        found.counted.transactions_per_request if isinstance(found, GpuTime) else None,
        "".join(paragraphs_of(story_of(job.variant).part(SAVES))[:1]),
        reason,
    )
    return explained, limits


def answer_time(request: TimeRequest, report: Checkpoint) -> ExplainedTime:
    """Return the bounds of a job and what they say, or why there are none."""
    job, device = asked_job(request.job)
    return explained_time(job, device, request.measured_ms, report)


Cause = tuple[str, str, str]
"""What bounds a run, what removes that, and the key of the variant that does; empty where none does."""
_FEWER = 0.5
"""A variant removes a limit that does at most this part of what is done too often."""
_FASTER = 0.8
"""And its own bounds are at most this part."""
_CONFLICTS = 1.2
"""Wavefronts of a request to shared memory that are not one of bank conflicts yet."""


def gpu_cause(time: GpuTime) -> Cause:
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
            issued, wide = time.executed(issue_slots), time.executed(on_64_bit)
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


def _fewer(time: GpuTime, *costs: _Cost) -> tuple[str, str]:
    """Return what the nearest variant in teaching order does much less of, and its key."""
    values, own = time.job.problem.values, time.job.work
    for amount, verb, what in costs:
        ours = amount(own) / values if own else 0.0
        for other in _others(time) if ours else ():
            its, key = amount(other.work) / values if other.work else math.inf, other.variant.key
            if its > _FEWER * ours:
                continue
            # Its own bounds are well below these, too; it is counted for that.
            least = gpu_time(other, time.gpu, time.limits, time.checkpoint)
            if least.in_turn and least.least_ms <= _FASTER * time.least_ms:
                return f"`{key}` {verb} {_short(its)} instead of {_short(ours)} {what}", key
    return "No variant does much less of it", ""


def _others(time: GpuTime) -> Iterator[AnyJob]:
    """Yield the job by each variant that can do it on that GPU, the nearest in teaching order first."""
    job, every = time.job, list[AnyVariant](TASKS[time.job.variant.task].variants)
    at = every.index(job.variant) if job.variant in every else -1
    # Those after it come before those as far from it before it.
    for _, variant in sorted(enumerate(every), key=lambda pair: abs(pair[0] - at - 0.25)):
        block = variant.default_block
        is_other = variant.has_kernels and variant is not job.variant
        if is_other and variant.why_not(job.problem, job.constant, block, time.gpu.limits) is None:
            yield replace(job, variant=variant, block=block)


def _coalesced(time: GpuTime, each: float) -> tuple[str, str] | None:
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


def cpu_cause(found: LeastTime) -> Cause:
    """Return what the bounds give as the cause of the time, and the variant that removes it."""
    job, bound, vector = found.job, found.bounds[0], found.limits.vector_bits // 32
    each = bound.amount / job.problem.samples
    words = _WORDS[bound.key].format(
        megabytes=_count(bound.amount / 1e6),
        rate=_count(bound.per_s / 1e9),
        each=_count(each),
        us=_count(1e3 * bound.ms),
        of_vector=f"{_count(each * vector)} for {vector} results",
    )
    best = choose(AUTO, job.problem, job.constant, None, cpu_info()).variant
    if best is job.variant:
        return f"Bound by {words}", "No variant on the CPU is expected to take less", ""
    # What it does less of.
    works = [one.work(job.problem, one.block_for(None)) for one in (job.variant, best)]
    ours, its = (work.flops / 2 / job.problem.samples if work else 0.0 for work in works)
    less = "is expected to take less"
    if found.loops and not any(one.multiply_adds or one.operations for one in found.loops):
        cores = f", on {found.limits.cores} cores" if found.limits.cores > 1 else ""
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
