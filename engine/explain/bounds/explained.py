"""Why a run takes its time: its bounds on a device of known limits, and the reason in a sentence."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from engine.device.device_list import cpu_info
from engine.device.launches import DeviceKind
from engine.device_info import DeviceInfo
from engine.explain.architectures import DEFAULT
from engine.explain.bounds.cpu_bounds import CpuBounds
from engine.explain.bounds.cpu_sentences import cpu_cause
from engine.explain.bounds.gpu_sentences import gpu_cause
from engine.explain.bounds.gpu_time import gpu_time
from engine.explain.bounds.least_time import Cause, LeastTime
from engine.explain.counts.launch_arrays import LaunchArrays, launch_arrays
from engine.explain.launch.gpu_limits import Gpu
from engine.explain.launch.launches import why_not_compiled
from engine.explain.limits.device_limits import DeviceLimits
from engine.explain.limits.kept_limits import kept_limits, recorded_limits
from engine.explain.subject import Subject, gpu_for
from engine.reason import Reason
from engine.results.explained_time import ExplainedTime
from engine.results.progress import Checkpoint, Progress
from engine.results.quantities import digits_text, percent_text
from engine.run.task import AnyJob

LEAST_SHARE = 0.5
"""Bounds that reach less of the time do not explain it."""
MOST_SHARE = 1.03
"""Bounds above that part of it are none: the device does more than when its limits were measured."""
RECORDED_ARCHITECTURE = DEFAULT
"""That of the GPU whose runs and limits came with the program."""

Found = TypeVar("Found", bound=LeastTime)


def go_on(step: Progress) -> None:
    """Do not stop."""


def explained_time(
    job: AnyJob, device: DeviceInfo, measured_ms: float | None, checkpoint: Checkpoint = go_on
) -> ExplainedTime:
    """Return why a job takes its time on a device; `not_explained` says why there are no bounds.

    It compiles, but starts no device. `checkpoint` is called again and again; what it raises ends it.
    """
    gpu = gpu_for([device]) if job.variant.device is DeviceKind.CUDA else None
    subject = Subject(job.variant, job.problem, job.task.constant(job.operands), job.block, gpu)
    return explained_here(subject, measured_ms, launch_arrays(job), checkpoint)


def explained_here(
    subject: Subject[Any],
    measured_ms: float | None = None,
    arrays: LaunchArrays | None = None,
    checkpoint: Checkpoint = go_on,
) -> ExplainedTime:
    """Return the same of a subject, by the limits that are known of its device."""
    limits = limits_of(subject.gpu)
    if limits is not None:
        return explained_subject(subject, limits, measured_ms, arrays, checkpoint)
    title, remedy = "the CPU", "`devices --measure` measures them in 2 s, and they are kept."
    if subject.gpu is not None:
        title = subject.gpu.title
        remedy = remedy if subject.gpu.device else "They are measured where there is such a GPU."
    short = f"The limits of {title} are not known"
    return ExplainedTime(title, not_explained=Reason("not-measured", short, remedy=remedy))


def limits_of(gpu: Gpu | None) -> DeviceLimits | None:
    """Return the limits of a GPU, or of the CPU for None, as far as they were measured.

    Those of a GPU that is not here are the recorded ones, where it is of the same architecture.
    """
    if gpu is None:
        return kept_limits(cpu_info())
    if gpu.device is not None:
        return kept_limits(gpu.device)
    return recorded_limits() if gpu.architecture == RECORDED_ARCHITECTURE else None


def explained_subject(
    subject: Subject[Any],
    limits: DeviceLimits,
    measured_ms: float | None,
    arrays: LaunchArrays | None = None,
    checkpoint: Checkpoint = go_on,
) -> ExplainedTime:
    """Return the same of a subject on a device of these limits."""
    if subject.gpu is None:
        return _explained(CpuBounds(subject, limits), cpu_cause, measured_ms)
    not_compiled = why_not_compiled()
    if not_compiled is not None:
        return ExplainedTime(limits.device, not_explained=not_compiled)
    on_gpu = gpu_time(subject, limits, checkpoint, arrays)
    explained = _explained(on_gpu, gpu_cause, measured_ms)
    return replace(explained, transactions_per_request=on_gpu.counted.transactions_per_request)


def _explained(found: Found, cause_of: Callable[[Found], Cause], measured_ms: float | None) -> ExplainedTime:
    share = found.least_ms / measured_ms if measured_ms else None
    part = f"{digits_text(found.least_ms, 3)} ms"
    if share is not None:
        part = f"{percent_text(min(1.0, share))} of the time"
    reason = _not_explained(share, found.not_counted)
    sentence, remedy = str(reason), ""
    if reason is None:
        what, removed_by, remedy = cause_of(found)
        sentence = f"{what}. That takes at least {part}. {removed_by}."
    return ExplainedTime(
        found.limits.device, found.bounds, found.least_ms, measured_ms, sentence, remedy, not_explained=reason
    )


def _not_explained(share: float | None, not_counted: Reason | None) -> Reason | None:
    if share is None:
        return not_counted
    short = f"Not explained: bounds reach {percent_text(share)} of the time"
    if share > MOST_SHARE:
        why = f"{short}, more than all of it: the device did less when its limits were measured."
        return Reason("bounds-too-high", short, why, "`devices --measure` measures them again.")
    if share < LEAST_SHARE:
        return Reason("bounds-too-low", short, f"{short}. {not_counted or ''}".rstrip())
    return None
