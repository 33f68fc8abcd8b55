"""Lower bounds of a run on a GPU, of each launch for each thing that it must do, and the reason in words.

What the launches execute and ask of memory is counted (`engine.explain.counts`), and the rates are those
measured on the device (`engine.explain.limits`).

PTX is not what is executed: the compiler folds several instructions into one, and makes several of one. How
many issue slots an instruction takes is what the machine code that usually becomes of it takes, chosen so
that their sum is nowhere above what an H200 executed in 180 launches of the teaching kernels: 0.70 to 0.99 of
it, half of them above 0.87 (docs/bounds.md).
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from engine.device.launches import Launch
from engine.device_info import DeviceInfo
from engine.explain.bounds.least_time import Cause, LeastTime
from engine.explain.code.instruction_classes import InstructionClass, is_ptx_64_bit, ptx_class
from engine.explain.counts.accesses import BANKS, WORD_BYTES, CountedAccesses, CountedRun
from engine.explain.counts.counting import counted_run
from engine.explain.gpus import SCHEDULERS, attributes_of
from engine.explain.limits.device_limits import DeviceLimits, Limit
from engine.ptx.counts import SECTOR_BYTES
from engine.results.launch_facts import WARP
from engine.results.measurement import Bound
from engine.results.problem import Work
from engine.results.progress import Checkpoint
from engine.results.text_forms import count_text, rate_text
from engine.run.task import AnyJob
from engine.run.variant import AnyVariant
from engine.tasks.registry import TASKS
from engine.work.operations.problem import OperationProblem

Weigh = Callable[[str], float]
"""What an instruction takes, by its spelling such as "add.s64"; for a whole warp."""

# Of 64-bit integers, which machine code has in halves: a product is four instructions, a comparison, a choice
# or a combination two. Every other sum, and of shifts to the left too, becomes part of an address.
_OF_64_BIT = {
    **dict.fromkeys(("mul", "mad"), 4.0),
    **dict.fromkeys(("setp", "selp", "and", "or", "xor", "not", "shr"), 2.0),
    **dict.fromkeys(("add", "sub", "neg", "shl"), 0.5),
}
# A branch that threads may take is three: where they part, the branch, where they meet again. A jump that all
# take goes where the code is laid out in another order. An address needs no conversion to another space.
_OF_NAME = {"bra": 3.0, "bra.uni": 0.0, "cvta": 0.0, "cvt": 0.5}
# Half of the combinations of predicates are part of a comparison.
_OF_PREDICATES = 0.5
_MULTIPLY_ADD = {
    InstructionClass.FLOAT_FMA,
    InstructionClass.FLOAT_ADD,
    InstructionClass.FLOAT_MULTIPLY,
}
# The sides of the three matrices: mma.sync.aligned.m16n8k16.
_SHAPE = re.compile(r"\.m(\d+)n(\d+)k(\d+)\b")


def issue_slots(spelling: str) -> float:
    """Return how many issue slots of a warp an instruction takes."""
    name = spelling.partition(".")[0]
    if spelling.endswith(".pred") and name != "setp":
        return _OF_PREDICATES
    known = _OF_NAME.get(spelling, _OF_NAME.get(name))
    if known is not None:
        return known
    # The factors of a wide product have 32 bits; a load is one whatever it loads.
    is_wide = name in _OF_64_BIT and is_ptx_64_bit(spelling) and ".wide" not in spelling
    return _OF_64_BIT[name] if is_wide else 1.0


def multiply_adds(spelling: str) -> float:
    """Return whether an instruction needs the lanes that multiply and add."""
    return float(ptx_class(spelling) in _MULTIPLY_ADD)


def tensor_multiply_adds(spelling: str) -> float:
    """Return the multiply-adds of a tensor core's instruction on int8."""
    shape = _SHAPE.search(spelling) if is_tensor(spelling) and ".s8" in spelling else None
    return float(math.prod(map(int, shape.groups()))) if shape else 0.0


def is_tensor(spelling: str) -> bool:
    """Return whether an instruction is for tensor cores."""
    return ptx_class(spelling) is InstructionClass.TENSOR


def on_64_bit(spelling: str) -> float:
    """Return the issue slots of an instruction on 64-bit integers or addresses."""
    return issue_slots(spelling) if is_ptx_64_bit(spelling) else 0.0


_WAVEFRONT_BYTES = BANKS * WORD_BYTES


def bound_launch(
    launch: Launch, counted: CountedAccesses, gpu: DeviceInfo, limits: DeviceLimits
) -> tuple[Bound, ...]:
    """Return the bounds of a counted launch on a GPU of known limits."""
    return tuple(
        Bound(key, title, 1e3 * amount * uneven / rate.measured, amount, unit, rate.measured, source)
        for key, title, amount, unit, rate, source, uneven in _amounts(counted, launch, gpu, limits)
        if rate is not None and amount > 0
    )


def executed(counted: CountedAccesses, weigh: Weigh) -> float:
    """Return the sum of the weights of all instructions that the warps execute."""
    return sum(warps * weigh(spelling) for spelling, warps in counted.executed.items())


_Amount = tuple[str, str, float, str, Limit | None, str, float]


def _amounts(
    counted: CountedAccesses, launch: Launch, gpu: DeviceInfo, limits: DeviceLimits
) -> Iterator[_Amount]:
    """Yield what a launch must do.

    Key, title, how much of what, the device's rate, what it is counted from, and how much more of it the
    busiest multiprocessor has than the mean.
    """
    uneven, of_issue = _uneven(launch, attributes_of(gpu).multiprocessors)
    source = "executed PTX"
    moved = float(counted.launch_sectors * SECTOR_BYTES)
    copied = limits.copy_rate(moved)
    yield "copy", "copy", moved, "bytes", Limit(copied) if copied else None, source, 1.0
    wavefronts = counted.of("global_accesses").transactions + counted.of("shared_accesses").wavefronts
    shared = limits.shared_bytes_per_s
    rate = shared and Limit(shared.measured / _WAVEFRONT_BYTES)
    yield "l1", "L1 and shared memory", wavefronts, "wavefronts", rate, source, uneven
    issued, rate = executed(counted, issue_slots), limits.instructions_per_s
    yield "instructions", "instructions issued", issued, "instructions", rate, source, of_issue
    limit = limits.multiply_adds_per_s
    rate = limit and Limit(limit.measured / WARP)
    amount = executed(counted, multiply_adds)
    yield "multiply-adds", "multiply-adds", amount, "instructions", rate, source, of_issue
    amount, limit = executed(counted, tensor_multiply_adds), limits.int8_tensor_multiply_adds_per_s
    yield "int8-tensor", "tensor cores, int8", amount, "multiply-adds", limit, source, uneven
    blocks = float(launch.blocks)
    yield "blocks", "blocks started", blocks, "blocks", limits.blocks_per_s, "the grid", 1.0
    yield "launch", "launch", 1.0, "launches", limits.launches_per_s, "the plan", 1.0


def _uneven(launch: Launch, multiprocessors: int) -> tuple[float, float]:
    """Return how much more than the mean the busiest multiprocessor has to do, and its busiest scheduler.

    One has a whole number of blocks, the other a whole number of warps.
    """
    if not multiprocessors:
        return 1.0, 1.0
    blocks, warps = -(-launch.blocks // multiprocessors), -(-_threads(launch) // WARP)
    busiest = -(-blocks * warps // SCHEDULERS) * SCHEDULERS
    mean = launch.blocks / multiprocessors
    return blocks / mean, busiest / (mean * warps)


def _threads(launch: Launch) -> int:
    return launch.block[0] * launch.block[1] * launch.block[2]


@dataclass(frozen=True, eq=False, kw_only=True)
class GpuTime(LeastTime):
    """What the launches of a job must do on a GPU: none where its accesses are not counted."""

    gpu: DeviceInfo
    counted: CountedRun
    checkpoint: Checkpoint

    def executed(self, weigh: Weigh) -> float:
        """Return the sum of the weights of all instructions that the threads of all launches execute."""
        return sum(executed(one, weigh) for one in self.counted.passes) * WARP


def gpu_time(job: AnyJob, gpu: DeviceInfo, limits: DeviceLimits, checkpoint: Checkpoint) -> GpuTime:
    """Return the bounds of a job on a GPU, which need not be here."""
    counted = counted_run(job, checkpoint)
    steps = job.passes if counted.passes else ()
    return GpuTime(
        job=job,
        gpu=gpu,
        limits=limits,
        in_turn=tuple(
            bound_launch(step.launch, accesses, gpu, limits)
            for step, accesses in zip(steps, counted.passes, strict=True)
        ),
        beside=tuple(_of_work(job, limits, counted)),
        not_counted=counted.not_counted,
        counted=counted,
        checkpoint=checkpoint,
    )


def work_multiply_adds(job: AnyJob) -> float:
    """Return those of the model of work; none of an operation: its steps are others, such as comparisons."""
    return 0.0 if job.work is None or job.problem.task == OperationProblem.task else job.work.flops / 2


def _of_work(job: AnyJob, limits: DeviceLimits, counted: CountedRun) -> Iterator[Bound]:
    """Yield what the model of work says of all launches: it knows no code, but every multiply-add."""
    if job.work is None:
        return
    source, size, name = "the model of work", float(job.work.minimum_bytes), "multiply-adds"
    if rate := limits.copy_rate(size):
        yield Bound("copy", "copy", 1e3 * size / rate, size, "bytes", rate, source)
    limit = limits.multiply_adds_per_s
    uses_tensor_cores = any(map(is_tensor, (one for launch in counted.passes for one in launch.executed)))
    if limit and counted.passes and not uses_tensor_cores:
        amount = work_multiply_adds(job)
        yield Bound(name, name, 1e3 * amount / limit.measured, amount, name, limit.measured, source)


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
    of_what, count = "multiply-add", work_multiply_adds(time.job)
    if not count:
        of_what, count = "result", float(time.job.problem.values)
    issued, wide = time.executed(issue_slots), time.executed(on_64_bit)
    of_them = f", {_short(wide / count)} of them on 64-bit integers" if wide > issued / 10 else ""
    what = f"Issue-bound: {_short(issued / count)} instructions per {of_what}{of_them}"
    return Cause(what, *_fewer(time, _PICTURE, _LOADS, _GLOBAL, _FLOPS))


def _multiply_adds(time: GpuTime, bound: Bound) -> Cause:
    adds = work_multiply_adds(time.job) / time.job.problem.values
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
    accesses = (requests.requests + shared.requests) * WARP / time.job.problem.values
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
    values, own = time.job.problem.values, time.job.work
    for cost in costs:
        ours = cost.of(own) / values if own else 0.0
        for other in _others(time) if ours else ():
            key, work = other.variant.key, other.work
            if work is not None and cost.of(work) / values <= _FEWER * ours and _is_faster(time, other):
                its = _short(cost.of(work) / values)
                return f"`{key}` {cost.verb} {its} instead of {_short(ours)} {cost.what}", key
    return "No variant does much less of it", ""


def _others(time: GpuTime) -> Iterator[AnyJob]:
    """Yield the job by each variant that can do it on that GPU, the nearest in teaching order first."""
    job, every = time.job, list[AnyVariant](TASKS[time.job.variant.task].variants)
    at = every.index(job.variant) if job.variant in every else -1
    # Those after it come before those as far from it before it.
    for variant in sorted(every, key=lambda other: abs(every.index(other) - at - 0.25)):
        block = variant.default_block
        is_other = variant.has_kernels and variant is not job.variant
        if is_other and variant.why_not(job.problem, job.constant, block, time.gpu.limits) is None:
            yield replace(job, variant=variant, block=block)


def _is_faster(time: GpuTime, other: AnyJob) -> bool:
    """Return whether the bounds of another job are well below these; it is counted for that."""
    its = gpu_time(other, time.gpu, time.limits, time.checkpoint)
    return bool(its.in_turn) and its.least_ms <= _FASTER * time.least_ms


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
