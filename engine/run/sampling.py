"""Samples of a prepared variant that has been verified: warm up, the kernel, the copies, end to end.

Called on: the main thread of the engine's process, or of a script.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from engine.device.backend import Backend, Buffers
from engine.device.launches import Prepared
from engine.results.measurement import Spread, Timing
from engine.results.problem import Checkpoint, Progress

T = TypeVar("T")

# Samples of each part: their median is reported.
PART_SAMPLES = 7
LONGEST_PARTS_S = 3.0


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


def sampled(
    backend: Backend,
    prepared: Prepared,
    buffers: Buffers,
    upload: Callable[[], None],
    plan: SamplingPlan,
    checkpoint: Checkpoint,
    *,
    launch_s: float,
    copy_s: float,
) -> Timing:
    """Return the durations of a run; what is done once (compiling, allocating) is 0 in it.

    Parameters
    ----------
    buffers : Buffers
        Filled: the prepared variant has run on them.
    upload : callable of () -> None
        Copies the input to the device and waits.
    checkpoint : callable of Progress
        Called before each sample; may raise `Cancelled`.
    launch_s, copy_s : float
        How long a launch and a copy should take, seconds.
    """
    kernel, clock_name = sampled_kernel(backend, prepared, buffers, plan, checkpoint, launch_s)
    timing = Timing(kernel=kernel, end_to_end=kernel, compile_ms=0.0, allocate_ms=0.0, clock=clock_name)
    if not backend.copies:
        return timing
    of_copies = replace(plan, fewest=plan.fewest_copies, budget_s=plan.budget_s / 4)

    def spread_of(action: Callable[[], object], stage: str, fraction: float, expected_s: float) -> Spread:
        step = Progress(stage, fraction, expected_s)
        return _repeated(lambda: timed(action)[1], step, of_copies, checkpoint)

    def whole() -> None:
        upload()
        backend.run(prepared, buffers)
        backend.download(buffers)

    return replace(
        timing,
        host_to_device=spread_of(upload, "sampling copies in", 0.85, copy_s),
        device_to_host=spread_of(lambda: backend.download(buffers), "sampling copies out", 0.9, copy_s),
        end_to_end=spread_of(whole, "sampling end to end", 0.95, copy_s + launch_s),
    )


def sampled_kernel(
    backend: Backend,
    prepared: Prepared,
    buffers: Buffers,
    plan: SamplingPlan,
    checkpoint: Checkpoint,
    launch_s: float,
) -> tuple[Spread, str]:
    """Return the durations of the kernel alone, warm, and the clock's name; arguments as of `sampled`."""
    checkpoint(Progress("warming up", 0.6, 2 * launch_s + plan.warm_up_s))
    clock = backend.clock(prepared, buffers)
    # Calibrating has launched at least once; what takes longer than the warm-up is warm by then.
    begin = time.perf_counter()
    while launch_s + time.perf_counter() - begin < plan.warm_up_s:
        checkpoint(Progress("warming up", 0.6, launch_s))
        clock.sample_ms()
    step = Progress("sampling the kernel", 0.65, launch_s)
    return _repeated(clock.sample_ms, step, plan, checkpoint), clock.name


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

    found: list[dict[str, float]] = []
    begin = time.perf_counter()
    # What clocks its own parts has the median of each already.
    launches = 1 if backend.copies else PART_SAMPLES
    while len(found) < launches and (not found or time.perf_counter() - begin < LONGEST_PARTS_S):
        found.append(prepared.part_ms(buffers.image, buffers.out, clock))
    return {name: Spread(tuple(one[name] for one in found)).median_ms for name in found[0]}


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
