"""Answers what a launch takes of a GPU before it runs, and what the code of a kernel is.

The GPU need not be here: kernels are compiled, where that is requested, and linked without it. The code is
what a launch on it loads, kept in the same store (`engine.device.kernel_code`).

Called on: the thread that reads the pipe; what compiles, on the main thread, when nothing else runs.
"""

from collections.abc import Callable, Hashable

from engine.device.device_list import cpu_info, missing
from engine.device.devices import devices
from engine.device.kernel_code import resources_of, with_code
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.explain import launches
from engine.explain.examples import Example, example_of
from engine.explain.kernel_code import kernel_diff, listed_kernels, source_of
from engine.explain.launches import Architecture
from engine.explain.messages import CodeRequest, CompiledLaunchRequest, LaunchAdvice, LaunchRequest, ShownCode
from engine.geometry.block import Refusal, UnsupportedVariant
from engine.results.occupancy import KernelResources
from engine.results.problem import Checkpoint, Progress
from engine.run.measure import facts_of
from engine.run.task import AnyJob
from engine.work.answers import resolved_job
from engine.work.filtering.variants import variant
from engine.work.messages import PictureJob


def requested_job(request: PictureJob, architecture: Architecture | None = None) -> tuple[AnyJob, DeviceInfo]:
    """Return the job of a filter by the variant that it names, and its device; a GPU need not be here."""
    chosen = variant(request.variant, takes_auto=False)
    job = resolved_job(request).job_by(chosen)
    if chosen.device is DeviceKind.CPU:
        return job, cpu_info()
    named = [device for device in devices() if device.key == request.device]
    return job, launches.gpu_for(named or devices(), architecture)


def kernel_job(request: PictureJob, architecture: Architecture | None = None) -> tuple[AnyJob, DeviceInfo]:
    """Return the same of a CUDA kernel of ours; UnsupportedVariant says why it has no launch there."""
    job, device = requested_job(request, architecture)
    if not job.variant.has_kernels:
        why = "has no kernels of ours"
        if job.variant.device is DeviceKind.CPU:
            why = "runs on the CPU, which has no launches and no blocks of threads"
        raise UnsupportedVariant(job.variant.key, Refusal("no-kernels", f"{job.variant.title} {why}"))
    job.refuse_problem(device)
    return job, device


Resources = tuple[KernelResources, ...]

# What this process has compiled. The main thread writes it.
_known: dict[Hashable, Resources] = {}


def advice(request: LaunchRequest, report: Checkpoint) -> LaunchAdvice:
    """Return the launches of a job, with registers where they are known or requested, or why not."""
    try:
        job, gpu = kernel_job(request.job, request.architecture)
    except UnsupportedVariant as error:
        return LaunchAdvice(request.job.variant, reason=str(error.refusal))
    key = job.variant.key, job.problem, job.constant.weights_digest, job.block, gpu.limits.compute_capability
    if key not in _known and isinstance(request, CompiledLaunchRequest):
        # One that is not wanted any more ends between two kernels.
        _known[key] = kernel_resources(job, gpu, lambda: report(Progress("compiling", 0.0, 1.0)))
    return launch_advice(job, gpu, _known.get(key, ()))


def launch_advice(job: AnyJob, gpu: DeviceInfo, taken: Resources) -> LaunchAdvice:
    """Return the launches of a job of our kernels, of which it is known what they take; empty: it is not."""
    attributes, planned = gpu.attributes, job.variant.plan(job.problem, job.block)
    assert attributes is not None
    known = taken or [KernelResources(0, launch.shared_bytes, 0) for launch in planned]
    explained = tuple(
        launches.explained_launch(facts, one, attributes, launch.constant_bytes)
        for launch, facts, one in zip(planned, facts_of(job, planned, known, gpu), known, strict=True)
    )
    reason = str(launches.why_not_compiled() or "")
    return LaunchAdvice(job.variant.key, launches.gpu_text(gpu), explained, reason)


def kernel_resources(job: AnyJob, gpu: DeviceInfo, between: Callable[[], object] = lambda: None) -> Resources:
    """Return what each kernel takes on a GPU, one per launch; `between` is called before each.

    None where this process compiles no kernels. It must be something that the variant accepts there. A kernel
    takes 0.2 to 0.5 s where it is not kept.
    """
    if launches.why_not_compiled():
        return ()
    resources = []
    for step in job.passes:
        between()
        resources.append(with_code(step.kernel, step.signature, launches.architecture_of(gpu), resources_of))
    return tuple(resources)


def shown_code(request: CodeRequest, report: Checkpoint) -> ShownCode:
    """Return the code of a job's kernel, or its diff to another one."""
    # A kernel takes less; numba.cuda is imported for the first.
    expected_s = 2.0
    report(Progress("reading the code", 0.0, expected_s))
    job, form, architecture = request.job, request.form, request.architecture
    key = job.variant
    if job.operation is not None and key == AUTO:
        # The one that would run.
        key = resolved_job(job).choice.variant.key
    example, note = _example(job, key, architecture)
    other, other_note = _example(job, request.other, architecture) if request.other else (None, "")
    kernels = []
    for one in (example, other):
        if form is not None and one is not None:
            report(Progress(f"compiling {one.variant.key}", 0.5, expected_s))
            kernels.append(listed_kernels(one, form, architecture))
    block = example.block if example.variant.uses_block else None
    diff = kernel_diff(example, other, form, architecture) if other is not None else None
    code = source_of(example), kernels[0] if kernels else (), diff
    return ShownCode(key, block, example.compiled_for, note, other_note, *code)


def _example(job: PictureJob, key: str, architecture: Architecture) -> tuple[Example, str]:
    """Return what a kernel is compiled for: the job, or, with the reason, what the kernel takes instead."""
    # No device is needed.
    resolved = resolved_job(job.changed(variant=key))
    # The block is that of the job's own kernel.
    block = job.block if key == job.variant else None
    example = Example(resolved.request.named, resolved.problem, resolved.constant, block)
    try:
        if not missing and example.variant.has_kernels:
            example.passes(architecture)
    except UnsupportedVariant as error:
        instead = example_of(example.variant)
        return instead, f"{key}: {error.refusal.short}. So it is shown for {instead.compiled_for}."
    return example, ""
