"""Measures jobs of any task one after another, each where its device is; counts them without running any."""

from collections.abc import Callable, Iterable
from typing import Any

from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import DeviceFault, EngineError
from engine.results.measurement import Measurement
from engine.run.device_choice import device_for
from engine.run.executor import ExecutorFor, outcome_of
from engine.run.job import AnyJob
from engine.run.measure import unrun
from engine.run.plan import SamplingPlan

Result = Measurement[Any]


def sweep(
    jobs: Iterable[AnyJob],
    device: str,
    budget_s: float,
    executor_for: ExecutorFor,
    on_result: Callable[[Any], None] = lambda result: None,
) -> tuple[list[Any], DeviceFault | None]:
    """Measure every job.

    Parameters
    ----------
    jobs : iterable of Job
        Made one by one, so that operands need not be there all at once.
    device : str
        For the CUDA variants; "auto" is the first one that works.
    budget_s : float
        Time for the samples of each job, seconds.
    executor_for : callable of DeviceInfo -> Executor
    on_result : callable of Measurement
        Called after each job.

    Returns
    -------
    list of Measurement
        One a job, in their order; a failure is a result with its reason.
    DeviceFault or None
        If a device was lost on the way: the CUDA jobs after it were not tried.
    """
    results: list[Result] = []
    fault: DeviceFault | None = None
    plan = SamplingPlan(budget_s=budget_s)
    for job in jobs:
        try:
            if fault is not None and job.variant.device == DeviceKind.CUDA:
                reason = f"the device was lost before ({fault.what}: {fault.why})"
                raise EngineError("Not measured", reason, fault.remedy)
            result = outcome_of(job, device_for(job.variant, device), plan, executor_for).result
        except DeviceFault as error:
            fault = error
            result = not_run(job, device, error)
        except MemoryError:
            full = EngineError("Not enough memory", "the system gave no more", "Choose a smaller size.")
            result = not_run(job, device, full)
        except EngineError as error:
            result = not_run(job, device, error)
        results.append(result)
        on_result(result)
    return results, fault


def counted(job: AnyJob, device: str) -> Result:
    """Return what is known of a job without running it, and why it cannot run on a device where it cannot."""
    try:
        job.refuse(device_for(job.variant, device))
    except EngineError as error:
        return not_run(job, device, error)
    return not_run(job, device, None)


def not_run(job: AnyJob, wanted: str, error: EngineError | None) -> Result:
    """Return the result of a job that did not run; where any device would do, it is of the first GPU."""
    known: DeviceInfo | None = None
    if error is None or not isinstance(error, DeviceFault):
        known = _device_or_none(job, wanted)
    return unrun(job, known, "cuda:0" if wanted == AUTO else wanted, error)


def _device_or_none(job: AnyJob, wanted: str) -> DeviceInfo | None:
    try:
        return device_for(job.variant, wanted)
    except EngineError:
        return None
