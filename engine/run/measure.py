"""Runs one job of any task: refuse or prepare, verify, warm up, sample; jobs of many cells one after another.

The first launch goes over a result that was filled, so that unwritten samples are detected. Called on: the
main thread of the process of the engine, or of a script.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from engine.device.backend import NAN_BYTE, Backend, Buffers
from engine.device.device_list import commit, versions, where
from engine.device.devices import backend
from engine.device.launches import DeviceKind, Launch, Prepared
from engine.device_info import AUTO, DeviceInfo
from engine.errors import Cancelled, DeviceFault, EngineError
from engine.results.measurement import AnyResult, Environment, Measurement, Spread, Timing
from engine.results.occupancy import KernelResources, LaunchFacts, launch_facts
from engine.results.problem import Checkpoint, P, P_co, Progress
from engine.run.task import AnyJob, ProblemJob, device_for

T = TypeVar("T")

# Samples of each part: their median is reported.
PART_SAMPLES = 7
LONGEST_PARTS_S = 3.0
# No whole number is out of the question as a result, so there are two fills with no bit in common: what
# differs between the two runs was not written in them.
WHOLE_NUMBER_FILLS = (0x55, 0xAA)

_BLOCK_BYTES = 1024
OnValues = Callable[[np.ndarray], object]


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """Warm-up and samples of one run."""

    # Launch for at least this long before anything counts (clocks rise, caches fill), seconds.
    warm_up_s: float = 0.05
    budget_s: float = 0.5  # sample for about this long, seconds
    fewest: int = 5  # samples, whatever the budget says
    most: int = 200
    fewest_copies: int = 5  # samples of the copies and of end to end
    # Stop with fewer samples, but never without one, when they have taken this long, seconds: the plain loops
    # need minutes for a large mask on a large picture.
    patience_s: float = 10.0
    # Whether a second launch that the proof takes anyway is sample enough, on the CPU.
    takes_proof: bool = False
    # Whether the result names the versions and the commit that it was made with, which takes 30 ms.
    is_recorded: bool = True


NO_SAMPLES = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=1, most=1, fewest_copies=1)
HARDLY_SAMPLED = replace(NO_SAMPLES, takes_proof=True)


def timed(action: Callable[[], T]) -> tuple[T, float]:
    """Return the result of an action and how long it took, ms."""
    begin = time.perf_counter()
    result = action()
    return result, (time.perf_counter() - begin) * 1e3


def sampled_kernel(
    backend: Backend,
    prepared: Prepared,
    buffers: Buffers,
    plan: SamplingPlan,
    checkpoint: Checkpoint,
    launch_s: float,
) -> tuple[Spread, str]:
    """Return the durations of the kernel alone, warm, and the clock's name.

    The prepared variant has run on the buffers, and a launch should take `launch_s`. The checkpoint is called
    before each sample, and may raise `Cancelled`.
    """
    checkpoint(Progress("warming up", 0.6, 2 * launch_s + plan.warm_up_s))
    clock = backend.clock(prepared, buffers)
    # Calibrating has launched at least once; what takes longer than the warm-up is warm by then.
    begin = time.perf_counter()
    while launch_s + time.perf_counter() - begin < plan.warm_up_s:
        checkpoint(Progress("warming up", 0.6, launch_s))
        clock.sample_ms()
    step = Progress("sampling the kernel", 0.65, launch_s)
    return _repeated(clock.sample_ms, step, plan, checkpoint), clock.name


def _sampled(
    job: AnyJob, backend: Backend, prepared: Any, buffers: Buffers, plan: SamplingPlan,
    checkpoint: Checkpoint, launch_s: float,
) -> Timing:  # fmt: skip
    """Return the durations of a job, as `sampled_kernel`; what is done once (compiling, allocating) is 0."""
    kernel, clock_name = sampled_kernel(backend, prepared, buffers, plan, checkpoint, launch_s)
    timing = Timing(kernel=kernel, end_to_end=kernel, compile_ms=0.0, allocate_ms=0.0, clock=clock_name)
    if not backend.copies:
        return timing
    of_copies = replace(plan, fewest=plan.fewest_copies, budget_s=plan.budget_s / 4)
    upload, download = partial(backend.upload, job.operands, buffers), partial(backend.download, buffers)
    # Pageable memory is copied at 1 GB/s or more.
    copy_s = 0.1 + job.problem.copied_bytes / 1e9

    def spread_of(action: Callable[[], object], stage: str, fraction: float, expected_s: float) -> Spread:
        step = Progress(stage, fraction, expected_s)
        return _repeated(lambda: timed(action)[1], step, of_copies, checkpoint)

    def whole() -> None:
        upload()
        backend.run(prepared, buffers)
        download()

    return replace(
        timing,
        host_to_device=spread_of(upload, "sampling copies in", 0.85, copy_s),
        device_to_host=spread_of(download, "sampling copies out", 0.9, copy_s),
        end_to_end=spread_of(whole, "sampling end to end", 0.95, copy_s + launch_s),
    )


def sampled_parts(backend: Backend, prepared: Any, buffers: Buffers) -> dict[str, float]:
    """Return the time of each part of what a job computes, ms by name: a network's layers, a chain's steps.

    On CUDA a part is timed by device events around a replayed graph of its kernels alone, on the values that
    a whole launch left; on the CPU by the host's clock between the parts of a launch, fewer of
    which are taken where these take long.
    """
    backend.run(prepared, buffers)

    def clock(part: Prepared) -> float:
        timer = backend.clock(part, buffers)
        return Spread(tuple(timer.sample_ms() for _ in range(PART_SAMPLES))).median_ms

    samples: list[dict[str, float]] = []
    begin = time.perf_counter()
    # What clocks its own parts has the median of each already.
    launches = 1 if backend.copies else PART_SAMPLES
    while len(samples) < launches and (not samples or time.perf_counter() - begin < LONGEST_PARTS_S):
        samples.append(prepared.part_ms(buffers.image, buffers.out, clock))
    return {name: Spread(tuple(one[name] for one in samples)).median_ms for name in samples[0]}


def _repeated(
    sample_ms: Callable[[], float], step: Progress, plan: SamplingPlan, checkpoint: Checkpoint
) -> Spread:
    samples: list[float] = []
    begin = time.perf_counter()
    while len(samples) < plan.most:
        checkpoint(step)
        samples.append(sample_ms())
        longest_s = plan.patience_s if len(samples) < plan.fewest else plan.budget_s
        if time.perf_counter() - begin >= longest_s:
            break
    return Spread(tuple(samples))


def run_over_fills(
    prepared: Prepared, buffers: Buffers, backend: Backend
) -> tuple[np.ndarray, tuple[float, ...], str]:
    """Launch over a filled result: NaN under float32; two launches over two fills under 8 and 16 bit.

    Returns the host's array with the result, the time of each launch in ms, and where whole numbers were not
    written, in words; NaN is left for the oracle to find.
    """

    def run_over(fill: int) -> tuple[np.ndarray, float]:
        backend.fill_result(buffers, fill)
        _, launch_ms = timed(lambda: backend.run(prepared, buffers))
        return backend.download(buffers), launch_ms

    if buffers.host_out.dtype.kind == "f":
        values, first_ms = run_over(NAN_BYTE)
        return values, (first_ms,), ""
    values, first_ms = run_over(WHOLE_NUMBER_FILLS[0])
    first = block_sums(values)
    values, second_ms = run_over(WHOLE_NUMBER_FILLS[1])
    times_ms = first_ms, second_ms
    if np.array_equal(first, block_sums(values)):
        return values, times_ms, ""
    # Where, takes the samples themselves. What the third run does not show again was not always the same.
    other = values.copy()
    return values, times_ms, _difference(run_over(WHOLE_NUMBER_FILLS[0])[0], other)


def block_sums(values: np.ndarray) -> np.ndarray:
    """Return a sum for each 1024 bytes of an array, and its last bytes: other ones where two fills differ.

    A second array of a picture of 12 megapixels takes 36 MB and 75 ms, these sums 0.3 MB and 5 ms. The bytes
    of a block are 128 numbers of 64 bit. Where n of them have an unwritten byte at the same place p, 0 to 7,
    the two fills make their sum differ by 0x55 n 256^p; n is at most 128, so that nothing cancels out.
    """
    samples = values.reshape(-1).view(np.uint8)
    whole = len(samples) // _BLOCK_BYTES * _BLOCK_BYTES
    blocks = samples[:whole].view(np.uint64).reshape(-1, _BLOCK_BYTES // 8)
    return np.concatenate([np.add.reduce(blocks, axis=1), samples[whole:].astype(np.uint64)])


def _difference(first: np.ndarray, second: np.ndarray) -> str:
    if np.array_equal(first, second):
        return "not verified: two runs over two fills gave different results, two more the same ones"
    row, column, channel = (int(index[0]) for index in np.nonzero(first != second))
    return (
        f"not verified: row {row}, column {column}, channel {channel} is {first[row, column, channel]} and, "
        f"in a second run over another fill, {second[row, column, channel]}: it is unwritten, or not always "
        "the same"
    )


def launched(job: ProblemJob[P], prepared: Prepared, device: DeviceInfo) -> tuple[LaunchFacts, ...] | None:
    """Return the facts of each launch of a job that is prepared; None where it has no kernels of ours.

    In the simulator it is not known what a kernel takes. To find all this takes 0.2 to 10 ms, once.
    """
    launches = job.variant.plan(job.problem, job.block)
    if not launches:
        return None
    # What works through a batch in chunks launches other grids than the whole has, and says nothing of them.
    resources = getattr(prepared, "resources", ())
    known = resources if len(resources) == len(launches) else (None,) * len(launches)
    return facts_of(job, launches, known, device)


def facts_of(
    job: AnyJob, launches: Sequence[Launch], resources: Iterable[KernelResources | None], device: DeviceInfo
) -> tuple[LaunchFacts, ...]:
    """Return the facts of each launch of a job, by what its kernel takes."""
    halos = job.variant.halos(job.problem, launches)
    return tuple(
        launch_facts(launch.grid, launch.block, taken, device.attributes, halo, launch.idle_threads)
        for launch, taken, halo in zip(launches, resources, halos, strict=True)
    )


class Outcome(NamedTuple, Generic[P_co]):
    """What was computed (None if it failed), its result, and the error behind a failure."""

    values: np.ndarray | None
    result: Measurement[P_co]
    error: EngineError | None = None


def environment_of(device: DeviceInfo) -> Environment:
    """Return device, driver, clocks and versions for the record."""
    facts = device.facts
    name = f"{facts['model']}, {facts['cores']} cores" if "model" in facts else device.title
    clocks = f"{facts['clock']} maximum, memory {facts['memory clock']}" if "clock" in facts else ""
    driver, bandwidth = facts.get("driver API", ""), device.bandwidth_gb_s
    return Environment(f"{name}{where()}", driver, clocks, versions(), commit(), bandwidth)


def unrun(
    job: ProblemJob[P],
    device: DeviceInfo | None,
    device_key: str = "",
    error: EngineError | None = None,
    *,
    is_recorded: bool = True,
) -> Measurement[P]:
    """Return the result as far as it is known without running anything; `error` says why it cannot run.

    `device_key` is the requested device, for use where there is none; `is_recorded` as of `SamplingPlan`.
    """
    task, variant = job.task, job.variant
    environment = Environment("")
    if device is not None:
        environment = Environment(f"{device.title}{where()}", bandwidth_gb_s=device.bandwidth_gb_s)
    if is_recorded:
        environment = replace(environment, versions=versions(), commit=commit())
    return Measurement(
        variant=variant.key,
        title=variant.title,
        device=device.key if device else device_key,
        problem=job.problem,
        block=job.block if variant.uses_block else None,
        environment=environment,
        failure=error.failure if error else None,
        refused=error is not None and error.is_refusal,
        chosen_because=job.chosen_because.clauses if job.chosen_because else "",
        seed=job.seed,
        work=variant.work(job.problem, job.block) if task.static_counts else None,
        **task.labels(job),
    )


def measure(
    job: ProblemJob[P],
    backend: Backend,
    plan: SamplingPlan,
    *,
    checkpoint: Checkpoint = lambda step: None,
    host_out: np.ndarray | None = None,
    on_values: OnValues | None = None,
    filled: Buffers | None = None,
) -> Outcome[P]:
    """Run one job: verify, warm up, sample. A failure is a result with its reason; nothing is raised for it.

    Where times mean nothing (the simulator) none is taken.
    `checkpoint` is called before each step; the result goes to `host_out`, of its shape and type, where that
    is given. `on_values` is called with it before it is verified, where no launch follows: to encode it
    meanwhile. `filled` are buffers of such a job with its operands in them. Raises Cancelled (by the
    checkpoint), and DeviceFault where the process must be ended.
    """
    task, result = job.task, unrun(job, backend.info, is_recorded=False)
    if plan.is_recorded:
        result = replace(result, environment=environment_of(backend.info))
    try:
        with backend.selected():
            job.refuse(backend.info)
            checkpoint(Progress("compiling", 0.0, 2.0))
            prepared, compile_ms = timed(job.prepare)
            buffers, allocate_ms = timed(lambda: filled or task.allocate(backend, job, host_out))
            if filled is None:
                backend.upload(job.operands, buffers)
            checkpoint(Progress("first launch", 0.1, task.expected_launch_s(job, backend.info)))
            values, launches_ms, fault = run_over_fills(prepared, buffers, backend)
            # The first launch starts threads and touches new memory.
            is_sampled = plan.takes_proof and len(launches_ms) > 1 and not backend.copies
            if on_values is not None and is_sampled and not fault:
                on_values(values)

            def verifying(fraction: float) -> None:
                stage = "verifying against the float64 oracle"
                checkpoint(Progress(stage, 0.2 + 0.4 * fraction, task.verifying_s))

            verification = task.verify(values, job, verifying)
            if fault:
                verification = replace(verification, passed=False, reason=fault)
            result = replace(result, verification=verification, work=job.variant.work(job.problem, job.block))
            if plan.is_recorded:
                result = replace(result, launches=launched(job, prepared, backend.info))
            timing: Timing | None = None
            if verification.passed and is_sampled:
                kernel = Spread(launches_ms[-1:])
                timing = Timing(kernel=kernel, end_to_end=kernel, compile_ms=0.0, allocate_ms=0.0)
            elif verification.passed and backend.info.times_mean_speed:
                timing = _sampled(job, backend, prepared, buffers, plan, checkpoint, launches_ms[0] / 1e3)
            if timing is not None:
                timing = replace(timing, compile_ms=compile_ms, allocate_ms=allocate_ms)
                result = replace(result, timing=timing)
            return Outcome(values, result)
    except (Cancelled, DeviceFault):
        raise
    except EngineError as error:
        return Outcome(None, replace(result, failure=error.failure, refused=error.is_refusal), error)


def measure_each(jobs: Sequence[ProblemJob[P]], backend: Backend, plan: SamplingPlan) -> list[Outcome[P]]:
    """Run jobs that differ in variant and constant, over the same operands. Raises also OutOfDeviceMemory."""
    first, outcomes = jobs[0], []
    with backend.selected():
        buffers = first.filled(backend)
        for job in jobs:
            outcome = measure(job, backend, plan, filled=buffers)
            # The next one writes into the same memory.
            values = None if outcome.values is None else outcome.values.copy()
            outcomes.append(outcome._replace(values=values))
    return outcomes


Measure = Callable[[Any, DeviceInfo, SamplingPlan], AnyResult]
"""Measures a job on a device and returns its result."""


def measured_result(job: AnyJob, device: DeviceInfo, plan: SamplingPlan) -> AnyResult:
    """Return the result of a job that is measured on a device."""
    return measure(job, backend(device.key), plan).result


def sweep(
    jobs: Iterable[AnyJob],
    device: str,
    budget_s: float,
    on_result: Callable[[Any], None] = lambda result: None,
    measure: Measure = measured_result,
) -> tuple[list[Any], DeviceFault | None]:
    """Measure every job, made one by one: operands need not be there all at once.

    `device` is for the CUDA variants; "auto" is the first one that works. `budget_s` is the time for the
    samples of each job, seconds. A failure is a result with its reason. Also returns the fault where a device
    was lost on the way: the CUDA jobs after it were not tried.
    """
    results: list[AnyResult] = []
    fault: DeviceFault | None = None
    plan = SamplingPlan(budget_s=budget_s)
    for job in jobs:
        try:
            if fault is not None and job.variant.device == DeviceKind.CUDA:
                reason = f"the device was lost before ({fault.what}: {fault.why})"
                raise EngineError("Not measured", reason, fault.remedy)
            result = measure(job, device_for(job.variant, device), plan)
        except MemoryError:
            full = EngineError("Not enough memory", "the system gave no more", "Choose a smaller size.")
            result = not_run(job, device, full)
        except EngineError as error:
            fault = error if isinstance(error, DeviceFault) else fault
            result = not_run(job, device, error)
        results.append(result)
        on_result(result)
    return results, fault


def counted(job: ProblemJob[P], device: str) -> Measurement[P]:
    """Return the result of a job that is only counted, with the reason where it cannot run on the device."""
    try:
        job.refuse(device_for(job.variant, device))
    except EngineError as error:
        return not_run(job, device, error)
    return not_run(job, device, None)


def not_run(job: ProblemJob[P], wanted: str, error: EngineError | None) -> Measurement[P]:
    """Return the result of a job that did not run; without a device it names the first GPU."""
    known: DeviceInfo | None = None
    if not isinstance(error, DeviceFault):
        with suppress(EngineError):
            known = device_for(job.variant, wanted)
    return unrun(job, known, "cuda:0" if wanted == AUTO else wanted, error)
