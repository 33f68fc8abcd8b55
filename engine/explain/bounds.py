"""Lower bounds of a run: the least time for each thing that it must do, on a device of known limits.

On the CPU amounts are those that the variant says its loops do (`engine.results.problem.LoopWork`), on a GPU
those counted of each launch (`engine.explain.counting`). Rates are those measured on the device.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from engine.device.launches import Launch
from engine.device_info import WARP, DeviceInfo
from engine.errors import Reason
from engine.explain.counting import BANKS, WORD_BYTES, CountedAccesses, CountedRun, counted_run
from engine.explain.device_limits import DeviceLimits, Limit
from engine.explain.instructions import Weigh, is_tensor, issue_slots, multiply_adds, tensor_multiply_adds
from engine.explain.launches import SCHEDULERS
from engine.ptx.counts import SECTOR_BYTES
from engine.results.measurement import Bound
from engine.results.problem import Checkpoint, LoopWork
from engine.run.task import AnyJob
from engine.variants.cpu.register_tiles import VECTOR
from engine.work.filter_task import MaskJob
from engine.work.problem import OperationProblem, Problem


@dataclass(frozen=True, eq=False, kw_only=True)
class LeastTime:
    """What a run must do on a device of known limits, and the least time for that."""

    job: AnyJob
    limits: DeviceLimits
    in_turn: tuple[tuple[Bound, ...], ...]  # of each launch, or of each loop: they follow one another
    beside: tuple[Bound, ...] = ()  # of all of them together
    before: tuple[Bound, ...] = ()  # of a call, which comes before all that it does
    not_counted: Reason | None = None  # why it is not counted what the run does: its bytes alone bound it
    loops: tuple[LoopWork, ...] = ()  # on a processor, where they are ours

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """Of all that is done together, the tallest first."""
        found: dict[str, Bound] = {}
        for bound in (bound for bounds in self.in_turn for bound in bounds):
            found[bound.key] = found[bound.key] + bound if bound.key in found else bound
        for bound in (*self.beside, *self.before):
            if bound.key not in found or bound.ms > found[bound.key].ms:
                found[bound.key] = bound
        return tuple(sorted(found.values(), key=lambda bound: -bound.ms))

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
    slots, added, products = map(counted.weighed, (issue_slots, multiply_adds, tensor_multiply_adds))
    return (
        *_bound("copy", "copy", moved, "bytes", limits.copy_rate(moved), ptx),
        *_bound("l1", "L1 and shared memory", wavefronts, "wavefronts", shared, ptx, uneven),
        *_bound(issued, "instructions issued", slots, issued, issue, ptx, of_issue),
        *_bound(_ADDS, _ADDS, added, issued, add, ptx, of_issue),
        *_bound("int8-tensor", "tensor cores, int8", products, _ADDS, tensor, ptx, uneven),
        *_bound("blocks", "blocks started", blocks, "blocks", started, "the grid"),
        *_bound("launch", "launch", 1.0, "launches", _rate(limits.launches_per_s), "the plan"),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class GpuTime(LeastTime):
    """What the launches of a job must do on a GPU: none where its accesses are not counted."""

    gpu: DeviceInfo
    counted: CountedRun
    checkpoint: Checkpoint

    def executed(self, weigh: Weigh) -> float:
        """Return the sum of the weights of all instructions that the threads of all launches execute."""
        return sum(one.weighed(weigh) for one in self.counted.passes) * WARP


def gpu_time(job: AnyJob, gpu: DeviceInfo, limits: DeviceLimits, checkpoint: Checkpoint) -> GpuTime:
    """Return the bounds of a job on a GPU, which need not be here."""
    counted = counted_run(job, checkpoint)
    in_turn = (
        bound_launch(step.launch, accesses, gpu, limits)
        for step, accesses in zip(job.passes if counted.passes else (), counted.passes, strict=True)
    )
    beside = list[Bound]()
    if job.work is not None:
        # The model of work knows no code, but every multiply-add.
        source, size = "the model of work", float(job.work.minimum_bytes)
        beside = _bound("copy", "copy", size, "bytes", limits.copy_rate(size), source)
        if counted.passes and not any(is_tensor(one) for launch in counted.passes for one in launch.executed):
            rate = _rate(limits.multiply_adds_per_s)
            beside += _bound(_ADDS, _ADDS, work_multiply_adds(job), _ADDS, rate, source)
    return GpuTime(
        job=job,
        gpu=gpu,
        limits=limits,
        in_turn=tuple(in_turn),
        beside=tuple(beside),
        not_counted=counted.not_counted,
        counted=counted,
        checkpoint=checkpoint,
    )


def work_multiply_adds(job: AnyJob) -> float:
    """Return those of the model of work; none of an operation: its steps are others, such as comparisons."""
    return 0.0 if job.work is None or job.problem.task == OperationProblem.task else job.work.flops / 2


def cpu_time(job: MaskJob, limits: DeviceLimits) -> LeastTime:
    """Return the bounds of a job on a processor of known limits."""
    library, problem = job.variant.library, job.problem
    prepared = None if library else job.prepare()
    size = problem.samples * (problem.itemsize + problem.result_itemsize)
    once = "the picture read once and the result written once"
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
    return LeastTime(
        job=job,
        limits=limits,
        in_turn=tuple(_of_loop(one, problem, limits, share) for one in loops),
        beside=tuple(_bound("copy", "copy", size, "bytes", limits.copy_rate(size), once)),
        before=tuple(calls),
        not_counted=Reason("no-kernels", f"What {library} does is not counted") if library else None,
        loops=loops,
    )


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
