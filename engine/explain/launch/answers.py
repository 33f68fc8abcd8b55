"""Answers what a launch takes of a GPU before it runs; its kernels are compiled where that is asked for.

The GPU need not be here: kernels are compiled and linked without it. The code is what a launch on it loads,
kept in the same store (`engine.device.kernel_code`).

Called on: the thread that reads the pipe; what compiles, on the main thread, when nothing else runs.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from engine.compiled.late_names import import_names
from engine.device.kernel_code import resources_of
from engine.device_info import DeviceInfo
from engine.explain.gpus import architecture_of, attributes_of, gpu_text
from engine.explain.kernel_job import kernel_job
from engine.explain.launch.launches import ExplainedLaunch, curves, why_not_compiled
from engine.explain.messages import CompiledLaunchRequest, LaunchAdvice, LaunchRequest
from engine.geometry.block import UnsupportedVariant
from engine.results.launch_facts import KernelResources, occupancy_of
from engine.results.progress import Checkpoint, Progress
from engine.run.measure import facts_of
from engine.run.task import AnyJob

if TYPE_CHECKING:  # imported by `import_names`: Numba's CUDA target takes 0.4 s
    from engine.device.kernel_code import with_code

Resources = tuple[KernelResources, ...]

_MOST_KNOWN = 256
# What this process has compiled, the newest last. The main thread writes it.
_known: OrderedDict[Hashable, Resources] = OrderedDict()
_COMPILING = Progress("compiling", 0.0, 1.0)


def describe(request: LaunchRequest, report: Checkpoint) -> LaunchAdvice:
    """Return the launches of a job, with registers where they are known or asked for, or why not."""
    try:
        job, gpu = kernel_job(request.job, request.architecture)
    except UnsupportedVariant as error:
        return LaunchAdvice(request.job.variant, reason=str(error.refusal))
    return launch_advice(job, gpu, lambda: _resources(job, gpu, request, report))


def launch_advice(job: AnyJob, gpu: DeviceInfo, resources: Callable[[], Resources]) -> LaunchAdvice:
    """Return the launches of a job of our kernels; `resources` are asked where kernels can be compiled."""
    not_compiled, attributes = why_not_compiled(), attributes_of(gpu)
    taken = () if not_compiled else resources()
    launches = job.variant.plan(job.problem, job.block)
    known = taken or [KernelResources(0, launch.shared_bytes, 0) for launch in launches]
    found = [
        (facts, occupancy_of(facts.threads, one, attributes), curves(facts.threads, one, attributes))
        for facts, one in zip(facts_of(job, launches, known, gpu), known, strict=True)
    ]
    explained = tuple(
        ExplainedLaunch(facts, held, launch.constant_bytes)
        for launch, (facts, held, _) in zip(launches, found, strict=True)
    )
    drawn = tuple(curve for _, _, curve in found)
    return LaunchAdvice(job.variant.key, gpu_text(gpu), explained, drawn, str(not_compiled or ""))


def _resources(job: AnyJob, gpu: DeviceInfo, asked: LaunchRequest, report: Checkpoint) -> Resources:
    """Return what the kernels take; empty where this process has not compiled them and need not."""
    key = job.variant.key, job.problem, job.constant.weights_digest, job.block, gpu.limits.compute_capability
    if key not in _known and isinstance(asked, CompiledLaunchRequest):
        # One that is not wanted any more ends between two kernels.
        _known[key] = kernel_resources(job, gpu, lambda: report(_COMPILING))
        if len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
    return _known.get(key, ())


def kernel_resources(job: AnyJob, gpu: DeviceInfo, between: Callable[[], object] = lambda: None) -> Resources:
    """Return what each kernel takes on a GPU, one per launch; `between` is called before each.

    It must be something that the variant accepts there, in a process that compiles kernels
    (`engine.explain.launch.launches.why_not_compiled`). A kernel takes 0.2 to 0.5 s where it is not kept.
    """
    import_names(__name__)
    found = []
    for step in job.passes:
        between()
        found.append(with_code(step.kernel, step.signature, architecture_of(gpu), resources_of))
    return tuple(found)
