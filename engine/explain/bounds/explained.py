"""Why a run takes its time: its bounds on a device of known limits, and the reason in a sentence."""

from engine.device.launches import DeviceKind
from engine.device_info import DeviceInfo
from engine.errors import Reason
from engine.explain.bounds.cpu_bounds import CpuTime, cpu_cause, cpu_time
from engine.explain.bounds.gpu_bounds import GpuTime, gpu_cause, gpu_time
from engine.explain.bounds.least_time import LeastTime
from engine.explain.code.source import SAVES, paragraphs_of, story_of
from engine.explain.gpus import ABSENT_GPUS, DEFAULT, gpu_text
from engine.explain.kernel_job import asked_job
from engine.explain.launch.launches import why_not_compiled
from engine.explain.limits.device_limits import DeviceLimits, left_out_words, reached_by_run, without_refuted
from engine.explain.limits.kept_limits import keep, kept_limits, recorded_limits
from engine.explain.limits.messages import MeasureLimits
from engine.explain.messages import TimeRequest
from engine.host.request import answer
from engine.results.measurement import ExplainedTime
from engine.results.progress import Checkpoint, go_on
from engine.results.text_forms import duration_text, percent_text
from engine.run.task import AnyJob

LEAST_SHARE = 0.5
"""Bounds that reach less of the time do not explain it."""
RECORDED_ARCHITECTURE = DEFAULT
"""That of the GPU whose runs and limits came with the program."""

_TOO_LOW = "bounds-too-low"
_AGAIN = "`devices --measure` measures them again."


def explained_time(
    job: AnyJob, device: DeviceInfo, measured_ms: float | None = None, checkpoint: Checkpoint = go_on
) -> ExplainedTime:
    """Return why a job takes its time on a device; `not_explained` says why there are no bounds.

    It compiles, but starts no device, and a GPU need not be here. `checkpoint` is called again and again;
    what it raises ends it.
    """
    limits = limits_of(device)
    if limits is not None:
        explained, left = explained_by(job, device, limits, measured_ms, checkpoint)
        if left is not limits and device.available:
            # Measured again, and left out from now on where the run exceeds it again.
            limits = limits.or_more(answer(MeasureLimits(device.key), checkpoint))
            explained, left = explained_by(job, device, limits, measured_ms, checkpoint)
            keep(device, left)
        return explained
    title, remedy = "the CPU", "`devices --measure` measures them in 2 s, and they are kept."
    if job.variant.device is DeviceKind.CUDA:
        title = gpu_text(device)
        remedy = remedy if device.available else "They are measured where there is such a GPU."
    short = f"The limits of {title} are not known"
    return ExplainedTime(title, not_explained=Reason("not-measured", short, remedy=remedy))


def limits_of(device: DeviceInfo) -> DeviceLimits | None:
    """Return the limits of a device as far as they were measured.

    Those of a GPU that is not here are the recorded ones, where it is of the same architecture.
    """
    if device.available:
        return kept_limits(device)
    return recorded_limits() if device is ABSENT_GPUS[RECORDED_ARCHITECTURE] else None


def explained_by(
    job: AnyJob,
    device: DeviceInfo,
    limits: DeviceLimits,
    measured_ms: float | None,
    checkpoint: Checkpoint = go_on,
) -> tuple[ExplainedTime, DeviceLimits]:
    """Return the same on a device of these limits, and those that it rests on: the run exceeded no other."""
    is_on_gpu = job.variant.device is DeviceKind.CUDA
    if is_on_gpu and (not_compiled := why_not_compiled()) is not None:
        return ExplainedTime(limits.device, not_explained=not_compiled), limits
    while True:
        found: CpuTime | GpuTime = (
            gpu_time(job, device, limits, checkpoint) if is_on_gpu else cpu_time(job, limits)
        )
        left = without_refuted(limits, reached_by_run(found.bounds, found.least_ms, measured_ms))
        if left is limits:
            break
        limits = left
    return _explained(found, measured_ms), limits


def _explained(found: CpuTime | GpuTime, measured_ms: float | None) -> ExplainedTime:
    share = found.least_ms / measured_ms if measured_ms else None
    part = duration_text(found.least_ms)
    if share is not None:
        part = f"{percent_text(min(1.0, share))} of the time"
    reason = _not_explained(share, found)
    sentence, remedy = str(reason), ""
    if reason is None:
        what, removed_by, remedy = gpu_cause(found) if isinstance(found, GpuTime) else cpu_cause(found)
        sentence = f"{what}. That takes at least {part}. {removed_by}."
    elif reason.code == _TOO_LOW:
        tallest, rest = found.bounds[0], "what takes the rest is not known"
        known = f"Most of what is counted goes into {tallest.title}: at least {part}; {rest}."
        sentence = f"{known} {found.not_counted or ''}".rstrip()
    if left_out := left_out_words(found.limits):
        sentence = f"{sentence.rstrip('.')}. {left_out}"
    each = found.counted.transactions_per_request if isinstance(found, GpuTime) else None
    device, bounds, least_ms = found.limits.device, found.bounds, found.least_ms
    saves = paragraphs_of(story_of(found.job.variant).part(SAVES))[:1]
    return ExplainedTime(
        device, bounds, least_ms, measured_ms, sentence, remedy, each, "".join(saves), reason
    )


def _not_explained(share: float | None, found: LeastTime) -> Reason | None:
    if not found.bounds:
        return Reason("limits-left-out", "Not explained: no limit is left", remedy=_AGAIN)
    if share is None:
        return found.not_counted
    if share < LEAST_SHARE:
        return Reason(_TOO_LOW, f"Bounds reach {percent_text(share)} of the time")
    return None


def describe(request: TimeRequest, report: Checkpoint) -> ExplainedTime:
    """Return the bounds of a job and what they say, or why there are none."""
    job, device = asked_job(request.job)
    return explained_time(job, device, request.measured_ms, report)
