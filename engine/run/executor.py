"""Where jobs are done: whatever has the shape of `concurrent.futures.Executor`.

This thread, a child process (`engine.host.executor`), or later another machine: the pipeline does not know.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from engine.device.devices import backend, own_process_needed
from engine.device_info import DeviceInfo
from engine.errors import EngineError
from engine.results.problem import P
from engine.results.progress import Checkpoint
from engine.run.measure import OnValues, Outcome, measure, measure_each, unrun
from engine.run.sampling import NO_SAMPLES, SamplingPlan
from engine.run.task import AnyJob, ProblemJob

T = TypeVar("T")

ExecutorFor = Callable[[DeviceInfo], Executor]
"""Returns the executor for a device."""


class CallingThread(Executor):
    """Does everything at once, on the calling thread."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Call the function; return its result as a future."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **named))
        except BaseException as error:  # noqa: BLE001 - the caller gets it with the result
            future.set_exception(error)
        return future


def measure_on(
    job: AnyJob,
    device: str,
    plan: SamplingPlan,
    checkpoint: Checkpoint = lambda step: None,
    on_values: OnValues | None = None,
) -> Outcome[Any]:
    """Measure a job in the process that this is called in; nothing is sampled where times mean nothing."""
    machine = backend(device)
    plan = plan if machine.info.times_mean_speed else NO_SAMPLES
    return measure(job, machine, plan, checkpoint=checkpoint, on_values=on_values)


def measure_each_on(
    jobs: Sequence[ProblemJob[P]], device: str, plan: SamplingPlan, checkpoint: Checkpoint = lambda step: None
) -> list[Outcome[P]]:
    """Measure jobs of one input (`measure_each`) in the process that this is called in."""
    machine = backend(device)
    return measure_each(jobs, machine, plan if machine.info.times_mean_speed else NO_SAMPLES, checkpoint)


def outcomes_of(
    jobs: Sequence[ProblemJob[P]], device: DeviceInfo, plan: SamplingPlan, executor_for: ExecutorFor
) -> list[Outcome[P]]:
    """Measure jobs of one input (`measure_each`) where their device is.

    None may be one that the device cannot do. Raises DeviceFault, HostLost or Cancelled.
    """
    return _done(executor_for(device).submit(measure_each_on, jobs, device.key, plan))


def outcome_of(
    job: ProblemJob[P],
    device: DeviceInfo,
    plan: SamplingPlan,
    executor_for: ExecutorFor,
    on_values: OnValues | None = None,
) -> Outcome[P]:
    """Measure a job where its device is; what cannot be done is refused before a process is started for it.

    `on_values` is as of `measure`; a job in another process does not call it. Raises DeviceFault, HostLost or
    Cancelled.
    """
    here: dict[str, Any] = {"on_values": on_values}
    if own_process_needed(device):
        here = {}
        try:
            job.refuse(device)
        except EngineError as error:
            return Outcome(None, unrun(job, device, error=error), error)
    return _done(executor_for(device).submit(measure_on, job, device.key, plan, **here))


def _done(future: Future[T]) -> T:
    """Wait for work and return what it returns."""
    try:
        return future.result()
    finally:
        # Where the wait was interrupted, the work is to stop; one that is done cannot be cancelled.
        future.cancel()
