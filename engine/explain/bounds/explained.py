"""Why a run takes its time: its bounds on a device of known limits, and the reason in a sentence."""

from typing import Any

from engine.device_info import DeviceInfo
from engine.explain.bounds.gpu_sentences import sentence_of
from engine.explain.bounds.gpu_time import GpuTime, gpu_time
from engine.explain.counts.launch_arrays import LaunchArrays, launch_arrays
from engine.explain.launch.launches import why_not_compiled
from engine.explain.limits.device_limits import DeviceLimits
from engine.explain.limits.kept_limits import kept_limits
from engine.explain.subject import Subject, gpu_for
from engine.reason import Reason
from engine.results.explained_time import ExplainedTime
from engine.results.progress import Checkpoint, Progress
from engine.results.quantities import percent_text
from engine.run.task import AnyJob

LEAST_SHARE = 0.5
"""Bounds that reach less of the time do not explain it."""
MOST_SHARE = 1.03
"""Bounds above that part of it are none: the device does more than when its limits were measured."""


def go_on(step: Progress) -> None:
    """Do not stop."""


def explained_time(
    job: AnyJob, device: DeviceInfo, measured_ms: float | None, checkpoint: Checkpoint = go_on
) -> ExplainedTime:
    """Return why a job takes its time on a device; `not_explained` says why there are no bounds.

    It compiles, but starts no device. `checkpoint` is called again and again; what it raises ends it.
    """
    limits = kept_limits(device)
    if limits is None:
        return without_limits(device.title)
    gpu = gpu_for([device]) if device.kind == "cuda" else None
    constant = job.task.constant(job.operands)
    subject = Subject(job.variant, job.problem, constant, job.block, gpu)
    return explained_subject(subject, limits, measured_ms, launch_arrays(job), checkpoint)


def without_limits(device: str) -> ExplainedTime:
    """Return that the limits of a device have not been measured."""
    remedy = "`devices --measure` measures them in 2 s, and they are kept."
    return ExplainedTime(
        device,
        not_explained=Reason("not-measured", f"The limits of {device} were not measured", remedy=remedy),
    )


def explained_subject(
    subject: Subject[Any],
    limits: DeviceLimits,
    measured_ms: float | None,
    arrays: LaunchArrays | None = None,
    checkpoint: Checkpoint = go_on,
) -> ExplainedTime:
    """Return the same of a subject on a device of known limits."""
    not_compiled = why_not_compiled()
    if not_compiled is not None:
        return ExplainedTime(limits.device, not_explained=not_compiled)
    return explained(gpu_time(subject, limits, checkpoint, arrays), measured_ms)


def explained(time: GpuTime, measured_ms: float | None) -> ExplainedTime:
    """Return what bounds say beside a measured time."""
    share = time.least_ms / measured_ms if measured_ms else None
    sentence, remedy = "", ""
    not_explained = _not_explained(time, share)
    if not_explained is None:
        sentence, remedy = sentence_of(time, share)
    return ExplainedTime(
        time.limits.device,
        time.bounds,
        time.least_ms,
        measured_ms,
        sentence or str(not_explained),
        remedy,
        time.counted.transactions_per_request,
        not_explained,
    )


def _not_explained(time: GpuTime, share: float | None) -> Reason | None:
    not_counted = time.counted.not_counted
    if share is not None and share > MOST_SHARE:
        short = f"Not explained: bounds reach {percent_text(share)} of the time"
        why = f"{short}, more than all of it: the device did less when its limits were measured."
        return Reason("bounds-too-high", short, why, "`devices --measure` measures them again.")
    if share is not None and share < LEAST_SHARE:
        short = f"Not explained: bounds reach {percent_text(share)} of the time"
        return Reason("bounds-too-low", short, f"{short}. {not_counted or ''}".rstrip())
    return not_counted if not time.launches else None
