"""Samples of a prepared variant that has been verified: warm up, the kernel, the copies, end to end.

Called on: the main thread of the engine's process, or of a script.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from engine.device.backend import Backend, Buffers, LaunchClock
from engine.device.launches import Prepared
from engine.results.measurement import Spread, Timing

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """Warm-up and samples of one run.

    Parameters
    ----------
    warm_up_s : float
        Launch for at least this long before anything counts (clocks rise, caches fill), seconds.
    budget_s : float
        Sample for about this long, seconds.
    fewest, most : int
        Samples to take whatever the budget says, and never more than.
    fewest_copies : int
        Samples of the copies and of end to end.
    patience_s : float
        Stop with fewer samples, but never without one, when they have taken this long, seconds: the plain
        loops need minutes for a large mask on a large picture.
    """

    warm_up_s: float = 0.05
    budget_s: float = 0.5
    fewest: int = 5
    most: int = 200
    fewest_copies: int = 5
    patience_s: float = 10.0


NO_SAMPLES = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=1, most=1, fewest_copies=1)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run that begins: its name for people, the fraction done, the expected seconds."""

    stage: str
    fraction: float
    expected_s: float


Checkpoint = Callable[[Step], None]
"""Called before each step; may raise `Cancelled`."""


def timed(action: Callable[[], T]) -> tuple[T, float]:
    """Return what an action answers and how long it took, ms."""
    begin = time.perf_counter()
    answer = action()
    return answer, (time.perf_counter() - begin) * 1e3


@dataclass(frozen=True)
class Sampler:
    """Takes the samples of one run.

    Parameters
    ----------
    backend : Backend
    plan : SamplingPlan
    checkpoint : callable of Step
        Called before each sample.
    """

    backend: Backend
    plan: SamplingPlan
    checkpoint: Checkpoint

    def timing(
        self,
        prepared: Prepared,
        buffers: Buffers,
        upload: Callable[[], None],
        launch_s: float,
        copy_s: float,
    ) -> Timing:
        """Return the durations of a run; what is paid once (compiling, allocating) is 0 in it.

        Parameters
        ----------
        prepared : Prepared
        buffers : Buffers
            Filled: the prepared variant has run on them.
        upload : callable of () -> None
            Copies the input to the device and waits.
        launch_s, copy_s : float
            How long a launch and a copy should take, seconds.

        Raises
        ------
        Cancelled
            By the checkpoint.
        """
        self._step("warming up", 0.6, 2 * launch_s + self.plan.warm_up_s)
        clock = self.backend.clock(prepared, buffers)
        try:
            kernel = self._kernel(clock, launch_s)
        finally:
            clock.close()
        if not self.backend.copies:
            return Timing(kernel=kernel, end_to_end=kernel, compile_ms=0.0, allocate_ms=0.0, clock=clock.name)
        return self._with_copies(prepared, buffers, upload, launch_s, copy_s, kernel, clock.name)

    def _step(self, stage: str, fraction: float, expected_s: float) -> None:
        self.checkpoint(Step(stage, fraction, expected_s))

    def _kernel(self, clock: LaunchClock, launch_s: float) -> Spread:
        # Calibrating has launched at least once; what takes longer than the warm-up is warm by then.
        begin = time.perf_counter()
        while launch_s + time.perf_counter() - begin < self.plan.warm_up_s:
            self._step("warming up", 0.6, launch_s)
            clock.sample_ms()
        return self._repeat(clock.sample_ms, "sampling the kernel", 0.65, launch_s, self.plan)

    def _with_copies(
        self,
        prepared: Prepared,
        buffers: Buffers,
        upload: Callable[[], None],
        launch_s: float,
        copy_s: float,
        kernel: Spread,
        clock_name: str,
    ) -> Timing:
        backend = self.backend
        copies = replace(self.plan, fewest=self.plan.fewest_copies, budget_s=self.plan.budget_s / 4)

        def whole() -> None:
            upload()
            backend.run(prepared, buffers)
            backend.download(buffers)

        def repeat(action: Callable[[], object], stage: str, fraction: float, expected_s: float) -> Spread:
            return self._repeat(lambda: timed(action)[1], stage, fraction, expected_s, copies)

        return Timing(
            kernel=kernel,
            host_to_device=repeat(upload, "sampling copies in", 0.85, copy_s),
            device_to_host=repeat(lambda: backend.download(buffers), "sampling copies out", 0.9, copy_s),
            end_to_end=repeat(whole, "sampling end to end", 0.95, copy_s + launch_s),
            compile_ms=0.0,
            allocate_ms=0.0,
            clock=clock_name,
        )

    def _repeat(
        self,
        sample_ms: Callable[[], float],
        stage: str,
        fraction: float,
        expected_s: float,
        plan: SamplingPlan,
    ) -> Spread:
        samples: list[float] = []
        begin = time.perf_counter()
        while _wants_sample(plan, len(samples), time.perf_counter() - begin):
            self._step(stage, fraction, expected_s)
            samples.append(sample_ms())
        return Spread(tuple(samples))


def _wants_sample(plan: SamplingPlan, taken: int, spent_s: float) -> bool:
    if taken == 0:
        return True
    if taken < plan.fewest:
        return spent_s < plan.patience_s
    return taken < plan.most and spent_s < plan.budget_s
