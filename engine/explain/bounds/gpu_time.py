"""The bounds of a variant's launches on a GPU together, counted once and kept."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.device.backend import Buffers
from engine.explain.bounds.gpu_bounds import BoundLaunch, bound_launch
from engine.explain.bounds.least_time import together
from engine.explain.counts.accesses import CountedRun
from engine.explain.counts.counting import counted_launches, picture_buffers
from engine.explain.launch.gpu_limits import Gpu
from engine.explain.limits.device_limits import DeviceLimits
from engine.explain.subject import Subject
from engine.reason import Reason
from engine.results.measurement import Bound
from engine.results.progress import Checkpoint
from engine.results.work import Work
from engine.work.operations.problem import OperationProblem

_COPY, _MULTIPLY_ADDS = "copy", "multiply-adds"


@dataclass(frozen=True, eq=False)
class GpuTime:
    """A subject on a GPU of known limits, and what its launches must do."""

    subject: Subject[Any]
    gpu: Gpu
    limits: DeviceLimits
    counted: CountedRun
    launches: tuple[BoundLaunch, ...]
    buffers: Buffers
    checkpoint: Checkpoint

    @property
    def work(self) -> Work | None:
        """The model of work."""
        work: Work | None = self.subject.unrun.work
        return work

    @property
    def multiply_adds(self) -> float:
        """Those of the model of work; none of an operation: its steps are others, comparisons of a median."""
        is_operation = self.subject.problem.task == OperationProblem.task
        return 0.0 if self.work is None or is_operation else self.work.flops / 2

    @property
    def not_counted(self) -> Reason | None:
        """Why its bytes alone bound it."""
        return self.counted.not_counted

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """Of all launches together, the tallest first."""
        found = together(launch.bounds for launch in self.launches)
        for bound in self._of_work():
            if bound.key not in found or bound.ms > found[bound.key].ms:
                found[bound.key] = bound
        return tuple(sorted(found.values(), key=lambda bound: -bound.ms))

    @property
    def least_ms(self) -> float:
        """Launches follow one another: the tallest bounds of each add up."""
        in_turn = sum(launch.least_ms for launch in self.launches)
        return max([in_turn, *(bound.ms for bound in self._of_work())])

    def _of_work(self) -> list[Bound]:
        """Return what the model of work says of all launches: it knows no code, but every multiply-add."""
        if self.work is None:
            return []
        source, size, bounds = "the model of work", float(self.work.minimum_bytes), list[Bound]()
        if rate := self.limits.copy_rate(size):
            bounds.append(Bound(_COPY, _COPY, 1e3 * size / rate, size, "bytes", rate, source))
        limit = self.limits.multiply_adds_per_s
        if limit and self.launches and not any(launch.uses_tensor_cores for launch in self.launches):
            amount, rate = self.multiply_adds, limit.measured
            ms, name = 1e3 * amount / rate, _MULTIPLY_ADDS
            bounds.append(Bound(name, name, ms, amount, name, rate, source))
        return bounds


def gpu_time(
    subject: Subject[Any],
    limits: DeviceLimits,
    checkpoint: Checkpoint,
    buffers: Buffers | None = None,
) -> GpuTime:
    """Return the bounds of a subject on its GPU; without launches where its accesses are not counted."""
    assert subject.gpu is not None
    variant, problem, constant, block = subject.variant, subject.problem, subject.constant, subject.block
    buffers = buffers or picture_buffers(problem)
    counted = counted_launches(variant, problem, constant, block, buffers, checkpoint)
    launches = []
    if counted.passes:
        for step, accesses in zip(variant.passes(problem, constant, block), counted.passes, strict=True):
            launches.append(bound_launch(step.launch, accesses, subject.gpu, limits))
    return GpuTime(subject, subject.gpu, limits, counted, tuple(launches), buffers, checkpoint)
