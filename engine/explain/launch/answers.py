"""Answers what a launch takes of a GPU, before it runs and without compiling.

Called on: the thread that reads the pipe.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable

from engine.device.devices import devices
from engine.device.launches import DeviceKind
from engine.explain.launch.curves import curves
from engine.explain.launch.gpu_limits import Gpu
from engine.explain.launch.launches import explained_launches, why_not_compiled
from engine.explain.launch.messages import LaunchAdvice, LaunchRequest
from engine.explain.subject import Subject, gpu_for
from engine.geometry.refusal import UnsupportedVariant
from engine.host.request import Describe
from engine.results.launch_facts import KernelResources
from engine.results.progress import Checkpoint
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.resolved_job import resolved_job

Resources = tuple[KernelResources, ...]

_MOST_KNOWN = 256
# What this process has compiled, the newest last. The main thread writes it.
_known: OrderedDict[Hashable, Resources] = OrderedDict()


def describe(request: Describe[LaunchRequest], report: Checkpoint) -> LaunchAdvice:
    """Return the launches of a job, with registers where they are known, or why there are none."""
    return advice(request.job, lambda subject, gpu: known_resources(subject, gpu) or ())


def advice(asked: LaunchRequest, resources_for: Callable[[Subject[Problem], Gpu], Resources]) -> LaunchAdvice:
    """Return the launches of a job; `resources_for` gives what its kernels take, empty where not known."""
    job = asked.job
    chosen = variant(job.variant, takes_auto=False)
    if chosen.device is DeviceKind.CPU:
        return LaunchAdvice(chosen.key, reason=f"{chosen.title} runs on the CPU, which has no launches.")
    if not chosen.has_kernels:
        return LaunchAdvice(chosen.key, reason=f"{chosen.title} has no kernels of ours.")
    resolved = resolved_job(job)
    problem = resolved.problem
    asked_devices = [device for device in devices() if device.key == job.device] or devices()
    gpu = gpu_for(asked_devices, asked.architecture)
    subject = Subject(chosen, problem, resolved.constant, chosen.block_for(job.block), gpu)
    try:
        subject.refuse(VARIANTS)
    except UnsupportedVariant as error:
        return LaunchAdvice(chosen.key, reason=str(error.refusal))
    not_compiled = why_not_compiled()
    resources = () if not_compiled else resources_for(subject, gpu)
    launches = explained_launches(chosen, problem, subject.block, gpu.attributes, resources)
    planned = [KernelResources(0, launch.facts.shared_bytes or 0, 0) for launch in launches]
    drawn = tuple(
        curves(launch.facts.threads, taken, gpu.attributes)
        for launch, taken in zip(launches, resources or planned, strict=True)
    )
    return LaunchAdvice(chosen.key, gpu.title, launches, drawn, str(not_compiled or ""))


def known_resources(subject: Subject[Problem], gpu: Gpu) -> Resources | None:
    """Return what the kernels take on a GPU if this process has compiled them."""
    return _known.get(_key(subject, gpu))


def remember(subject: Subject[Problem], gpu: Gpu, resources: Resources) -> None:
    """Keep what the kernels take on a GPU."""
    _known[_key(subject, gpu)] = resources
    if len(_known) > _MOST_KNOWN:
        _known.popitem(last=False)


def _key(subject: Subject[Problem], gpu: Gpu) -> Hashable:
    weights = subject.constant.weights_digest
    return subject.variant.key, subject.problem, weights, subject.block, gpu.architecture
