"""Jobs of many cells: made, measured one after another where their devices are, or only counted."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import DeviceFault, EngineError
from engine.results.measurement import AnyResult, Measurement
from engine.results.problem import P
from engine.run.device_choice import device_for
from engine.run.measure import measure_on, unrun
from engine.run.sampling import SamplingPlan
from engine.run.task import AnyJob, ProblemJob

Measure = Callable[[Any, DeviceInfo, SamplingPlan], AnyResult]
"""Measures a job on a device and returns its result."""


def measured_result(job: AnyJob, device: DeviceInfo, plan: SamplingPlan) -> AnyResult:
    """Return the result of a job that is measured on a device."""
    return measure_on(job, device.key, plan).result


def sweep(
    jobs: Iterable[AnyJob],
    device: str,
    budget_s: float,
    on_result: Callable[[Any], None] = lambda result: None,
    measure: Measure = measured_result,
    fault: DeviceFault | None = None,
) -> tuple[list[Any], DeviceFault | None]:
    """Measure every job; a failure is a result with its reason.

    Parameters
    ----------
    jobs : iterable of Job
        Made one by one, so that operands need not be there all at once.
    device : str
        For the CUDA variants; "auto" is the first one that works.
    budget_s : float
        Time for the samples of each job, seconds.
    measure : Measure
        Measures one job.
    fault : DeviceFault, optional
        Of a device that was lost before.

    Returns
    -------
    list of Measurement
        In the order of the jobs.
    DeviceFault or None
        If a device was lost on the way: the CUDA jobs after it were not tried.
    """
    results: list[AnyResult] = []
    plan = SamplingPlan(budget_s=budget_s)
    for job in jobs:
        try:
            if fault is not None and job.variant.device == DeviceKind.CUDA:
                reason = f"the device was lost before ({fault.what}: {fault.why})"
                raise EngineError("Not measured", reason, fault.remedy)
            result = measure(job, device_for(job.variant, device), plan)
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
