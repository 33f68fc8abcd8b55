"""What each step of a chain takes beside the whole, and the cells of a benchmark, on random pictures."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as with_fields

import numpy as np
from msgspec.structs import replace

from engine.device.devices import backend
from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable, OutOfDeviceMemory
from engine.geometry.block import Block, Layout
from engine.results.measurement import AnyResult, Measurement, StepTime
from engine.results.problem import Checkpoint, P, Progress
from engine.run.measure import LONGEST_PARTS_S, SamplingPlan, measured_result, sampled_parts
from engine.run.task import AnyJob, device_for
from engine.run.variant import ONE_LAYOUT, AnyVariant, ways
from engine.work.operations.patch import patch_from
from engine.work.planned import Plan
from engine.work.problem import ChainProblem, random_picture
from engine.work.resolve import Resolved
from engine.work.steps import PictureRequest

_NONE: Mapping[str, float] = {}


def steps_of(plan: Plan, times: Mapping[str, float] = _NONE) -> tuple[StepTime, ...]:
    """Return the steps of a plan with their times, ms by their ids, as far as they are known."""
    steps = ((planned.step, planned.variant_key) for planned in plan)
    return tuple(StepTime(step.id, step.title, key, times.get(step.id)) for step, key in steps)


def timed_steps(resolved: Resolved, result: AnyResult | None = None) -> tuple[StepTime, ...]:
    """Return every step, with the times of a result; the time of one alone is the kernel's."""
    if resolved.step is None:
        return result.steps if result is not None else steps_of(resolved.plan)
    step, ms = resolved.step, None if result is None else result.kernel_ms
    return (StepTime(step.id, step.title, resolved.choice.variant.key, ms),)


def with_steps(
    result: Measurement[P], job: AnyJob, checkpoint: Checkpoint = lambda step: None
) -> Measurement[P]:
    """Return a chain's result with its steps, timed if it was. Called on: the process with its device."""
    if result.failure or result.task != ChainProblem.task:
        return result
    times = _NONE
    if result.timing is not None:
        machine = backend(result.device)
        launches_s = 2.0 * job.task.expected_launch_s(job, machine.info)
        checkpoint(Progress("timing each step", 0.97, LONGEST_PARTS_S + launches_s))
        # The whole is proven and timed, whatever memory is left.
        with suppress(OutOfDeviceMemory), machine.selected():
            times = sampled_parts(machine, job.prepare(), job.filled(machine))
    return with_fields(result, steps=steps_of(job.constant, times))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a benchmark measures: each combination of all lists, on random pictures."""

    requests: Sequence[PictureRequest]  # the lists say variant, block and layout
    variants: Sequence[AnyVariant]
    sizes: Sequence[tuple[int, int]]  # pictures, width x height, pixels
    blocks: Sequence[Block] = ()
    layouts: Sequence[Layout] = ONE_LAYOUT
    channels: int = 1
    dtype: str = "float32"
    seed: int = 0  # of the pictures and the pixels that are verified

    @property
    def cells(self) -> int:
        """How many results there will be."""
        of_each = sum(1 for _ in ways(self.variants, self.blocks, self.layouts))
        return len(self.sizes) * len(self.requests) * of_each

    def refuse(self) -> None:
        """Raise an EngineError for what cannot be computed: what is measured by then would be lost."""
        for width, height in self.sizes:
            # The shape alone: it takes no memory.
            shaped = np.broadcast_to(np.zeros((), self.dtype), (height, width, self.channels))
            for request in self.requests:
                step = request.operation
                if step is not None:
                    parameters = step.known.read(dict(step.settings))
                    step.known.problem(shaped, parameters)
                    if step.known.takes_patch:
                        patch_from(shaped, parameters)
                elif request.step is None:
                    for variant in self.variants:
                        assert _on(request, variant, shaped).plan

    def jobs(self) -> Iterator[AnyJob]:
        """Yield every job, in order of sizes, requests, variants, blocks, layouts."""
        for width, height in self.sizes:
            samples = random_picture((height, width, self.channels), self.dtype, self.seed)
            for request in self.requests:
                resolved = Resolved(request, samples)
                for variant, block, layout in ways(self.variants, self.blocks, self.layouts):
                    if resolved.step is None:
                        resolved = _on(request, variant, samples)
                    resolved.request = replace(resolved.request, layout=layout)
                    yield resolved.job_by(variant, block, seed=self.seed)


def _on(request: PictureRequest, variant: AnyVariant, samples: np.ndarray) -> Resolved:
    """Return several steps with the plan for the device that a variant of chains is written for."""
    try:
        key = device_for(variant, request.device).key
    except DeviceUnavailable:
        # With any plan: who measures it finds the same, and has it as the reason.
        key = "cpu"
    return Resolved(replace(request, device=key), samples)


def measured_work(job: AnyJob, device: DeviceInfo, plan: SamplingPlan) -> AnyResult:
    """Return the result of a job that is measured on a device; of a chain with the times of its steps."""
    return with_steps(measured_result(job, device, plan), job)
