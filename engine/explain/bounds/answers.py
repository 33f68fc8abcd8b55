"""Answers why a job takes its time.

Called on: the main thread of the host, when nothing else runs.
"""

from engine.device.devices import devices
from engine.device.launches import DeviceKind
from engine.explain.bounds.explained import explained_here
from engine.explain.bounds.messages import TimeRequest
from engine.explain.subject import Subject, gpu_for
from engine.host.request import Describe
from engine.results.measurement import ExplainedTime
from engine.results.progress import Checkpoint
from engine.work.filtering.variants import variant
from engine.work.resolved_job import resolved_job


def describe(request: Describe[TimeRequest], report: Checkpoint) -> ExplainedTime:
    """Return the bounds of a job and what they say, or why there are none."""
    asked = request.job
    job = asked.job
    chosen = variant(job.variant, takes_auto=False)
    resolved = resolved_job(job)
    problem = resolved.problem
    gpu = None
    if chosen.device is DeviceKind.CUDA:
        gpu = gpu_for([device for device in devices() if device.key == job.device] or devices())
    subject = Subject(chosen, problem, resolved.constant, chosen.block_for(job.block), gpu)
    return explained_here(subject, asked.measured_ms, checkpoint=report)
