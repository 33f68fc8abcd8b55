"""Answers what a launch takes of a GPU before it runs; its kernels are compiled where that is asked for.

The GPU need not be here: kernels are compiled and linked without it. The code is what a launch on it loads,
kept in the same store (`engine.device.kernel_code`).

Called on: the thread that reads the pipe; what compiles, on the main thread, when nothing else runs.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from engine.device.cubin import resources_of
from engine.device.devices import devices
from engine.device.kernel_factory import import_names
from engine.device.launches import DeviceKind
from engine.explain.gpus import gpu_for
from engine.explain.launch.launches import curves, explained_launches, why_not_compiled
from engine.explain.messages import CompiledLaunchRequest, LaunchAdvice, LaunchRequest
from engine.explain.subject import AnySubject, Subject
from engine.geometry.refusal import UnsupportedVariant
from engine.host.request import Describe
from engine.results.launch_facts import KernelResources
from engine.results.progress import Checkpoint, Progress
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.resolved_job import resolved_job

if TYPE_CHECKING:  # imported by `import_names`: Numba's CUDA target takes 0.4 s
    from engine.device.kernel_code import with_code

Resources = tuple[KernelResources, ...]

_MOST_KNOWN = 256
# What this process has compiled, the newest last. The main thread writes it.
_known: OrderedDict[Hashable, Resources] = OrderedDict()
_COMPILING = Progress("compiling", 0.0, 1.0)


def describe(request: Describe[LaunchRequest | CompiledLaunchRequest], report: Checkpoint) -> LaunchAdvice:
    """Return the launches of a job, with registers where they are known or asked for, or why not."""
    asked, job = request.job, request.job.job
    chosen = variant(job.variant, takes_auto=False)
    if chosen.device is DeviceKind.CPU:
        return LaunchAdvice(chosen.key, reason=f"{chosen.title} runs on the CPU, which has no launches.")
    if not chosen.has_kernels:
        return LaunchAdvice(chosen.key, reason=f"{chosen.title} has no kernels of ours.")
    resolved = resolved_job(job)
    asked_devices = [device for device in devices() if device.key == job.device] or devices()
    gpu = gpu_for(asked_devices, asked.architecture)
    subject = Subject(chosen, resolved.problem, resolved.constant, chosen.block_for(job.block), gpu)
    try:
        subject.refuse(VARIANTS)
    except UnsupportedVariant as error:
        return LaunchAdvice(chosen.key, reason=str(error.refusal))
    not_compiled = why_not_compiled()
    resources = () if not_compiled else _resources(subject, asked, report)
    launches = explained_launches(chosen, subject.problem, subject.block, gpu.attributes, resources)
    planned = [KernelResources(0, launch.facts.shared_bytes or 0, 0) for launch in launches]
    drawn = tuple(
        curves(launch.facts.threads, taken, gpu.attributes)
        for launch, taken in zip(launches, resources or planned, strict=True)
    )
    return LaunchAdvice(chosen.key, gpu.title, launches, drawn, str(not_compiled or ""))


def _resources(subject: AnySubject, asked: LaunchRequest, report: Checkpoint) -> Resources:
    """Return what the kernels take; empty where this process has not compiled them and need not."""
    assert subject.gpu is not None
    weights = subject.constant.weights_digest
    key = subject.variant.key, subject.problem, weights, subject.block, subject.gpu.architecture
    if key not in _known and isinstance(asked, CompiledLaunchRequest):
        # One that is not wanted any more ends between two kernels.
        _known[key] = kernel_resources(subject, lambda: report(_COMPILING))
        if len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
    return _known.get(key, ())


def kernel_resources(subject: AnySubject, between: Callable[[], object] = lambda: None) -> Resources:
    """Return what each kernel takes on the subject's GPU, one per launch; `between` is called before each.

    It must be something that the variant accepts there, in a process that compiles kernels
    (`engine.explain.launch.launches.why_not_compiled`). A kernel takes 0.2 to 0.5 s where it is not kept.
    """
    import_names(__name__)
    assert subject.gpu is not None
    found = []
    for step in subject.variant.passes(subject.problem, subject.constant, subject.block):
        between()
        found.append(with_code(step.kernel, step.signature, subject.gpu.architecture, resources_of))
    return tuple(found)
