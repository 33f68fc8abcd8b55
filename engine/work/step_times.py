"""What each step of a chain takes, beside what the chain takes as a whole."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from engine.device.devices import backend
from engine.errors import OutOfDeviceMemory
from engine.results.measurement import AnyResult, Measurement, StepTime
from engine.results.problem import P
from engine.results.progress import Checkpoint, Progress
from engine.run.sampling import LONGEST_PARTS_S, sampled_parts
from engine.run.task import AnyJob
from engine.work.picture_problem import ChainProblem
from engine.work.planned import Plan
from engine.work.resolve import Resolved

_NONE: Mapping[str, float] = {}


def steps_of(plan: Plan, times: Mapping[str, float] = _NONE) -> tuple[StepTime, ...]:
    """Return the steps of a plan with their times, ms by their ids, as far as they are known."""
    return tuple(
        StepTime(planned.step.id, planned.step.title, planned.variant_key, times.get(planned.step.id))
        for planned in plan
    )


def timed_steps(resolved: Resolved, result: AnyResult | None = None) -> tuple[StepTime, ...]:
    """Return every step, with the times of a result; the time of one alone is the kernel's."""
    if resolved.step is None:
        return result.steps if result is not None else steps_of(resolved.plan)
    step, ms = resolved.step, None if result is None else result.kernel_ms
    return (StepTime(step.id, step.title, resolved.choice.variant.key, ms),)


def with_steps(
    result: Measurement[P], job: AnyJob, checkpoint: Checkpoint = lambda step: None
) -> Measurement[P]:
    """Return the result of a chain with its steps, which are timed where the chain was; another as it is.

    Called on: the process that uses the result's device.
    """
    if result.failure or result.task != ChainProblem.task:
        return result
    times = _NONE
    # The whole is proven and timed, whatever memory is left.
    with suppress(OutOfDeviceMemory):
        times = step_times(job, result.device, checkpoint) if result.timing is not None else _NONE
    return replace(result, steps=steps_of(job.operands.constant, times))


def step_times(job: AnyJob, device: str, checkpoint: Checkpoint = lambda step: None) -> dict[str, float]:
    """Return what each step takes on a device of this process, ms by its id."""
    machine = backend(device)
    launches_s = 2.0 * job.task.expected_launch_s(job, machine.info)
    checkpoint(Progress("timing each step", 0.97, LONGEST_PARTS_S + launches_s))
    with machine.selected():
        buffers = job.task.allocate(machine, job)
        job.task.upload(machine, job.operands, buffers)
        return sampled_parts(machine, job.task.prepare(job), buffers)
