"""Measures jobs on a device by its key; nothing is sampled where times mean nothing."""

from collections.abc import Sequence
from typing import Any

from engine.device.devices import backend
from engine.device.per_thread import report_share
from engine.results.problem import P
from engine.results.progress import Checkpoint, Progress
from engine.run.measure import OnValues, Outcome, measure, measure_each
from engine.run.sampling import NO_SAMPLES, SamplingPlan
from engine.run.task import AnyJob, ProblemJob


def measure_on(
    job: AnyJob,
    device: str,
    plan: SamplingPlan,
    checkpoint: Checkpoint = lambda step: None,
    on_values: OnValues | None = None,
) -> Outcome[Any]:
    """Measure a job (`measure`) on a device."""
    machine = backend(device)
    plan = plan if machine.info.times_mean_speed else NO_SAMPLES
    with report_share.within(lambda done: checkpoint(Progress("interpreting", 0.1 + 0.1 * done, 10.0))):
        return measure(job, machine, plan, checkpoint=checkpoint, on_values=on_values)


def measure_each_on(
    jobs: Sequence[ProblemJob[P]], device: str, plan: SamplingPlan, checkpoint: Checkpoint = lambda step: None
) -> list[Outcome[P]]:
    """Measure jobs of one input (`measure_each`) on a device."""
    machine = backend(device)
    with report_share.within(lambda done: checkpoint(Progress("interpreting", 0.1 + 0.1 * done, 10.0))):
        return measure_each(jobs, machine, plan if machine.info.times_mean_speed else NO_SAMPLES, checkpoint)
