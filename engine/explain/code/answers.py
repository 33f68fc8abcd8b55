"""Answers what the window asks of a kernel's code. Called on: the main thread of the host."""

from engine.device.device_list import missing
from engine.device_info import AUTO
from engine.explain.code.kernel_listing import kernel_diff, listed_kernels
from engine.explain.code.kernel_source import source_of
from engine.explain.examples import Example, example_of
from engine.explain.gpus import Architecture
from engine.explain.messages import CodeRequest, ShownCode
from engine.geometry.block import UnsupportedVariant
from engine.results.progress import Checkpoint, Progress
from engine.work.messages import PictureJob
from engine.work.resolved_job import resolved_job

# A kernel takes less; numba.cuda is imported for the first.
_EXPECTED_S = 2.0


def describe(request: CodeRequest, report: Checkpoint) -> ShownCode:
    """Return the code of a job's kernel, or its diff to another one."""
    report(Progress("reading the code", 0.0, _EXPECTED_S))
    keys = [_key(request.job), *([request.other] if request.other else [])]
    found = [_example(request.job, key, request.architecture) for key in keys]
    example, kernels = found[0][0], []
    if request.form is not None:
        for one, _ in found:
            report(Progress(f"compiling {one.variant.key}", 0.5, _EXPECTED_S))
            kernels.append(listed_kernels(one, request.form, request.architecture))
    return ShownCode(
        keys[0],
        example.block if example.variant.uses_block else None,
        example.compiled_for,
        found[0][1],
        found[-1][1] if request.other else "",
        source_of(example),
        kernels[0] if kernels else (),
        kernel_diff(example, found[1][0], request.form, request.architecture) if request.other else None,
    )


def _key(job: PictureJob) -> str:
    """Return the key of a job's variant; of an operation "auto" is the one that would run."""
    if job.operation is not None and job.variant == AUTO:
        key: str = resolved_job(job).choice.variant.key
        return key
    return job.variant


def _example(job: PictureJob, key: str, architecture: Architecture) -> tuple[Example, str]:
    """Return what a kernel is compiled for: the job, or, with the reason, what the kernel takes instead."""
    # No device is needed.
    resolved = resolved_job(job.changed(variant=key))
    # The block is that of the job's own kernel.
    block = job.block if key == job.variant else None
    chosen = resolved.step_task.named(resolved.step)
    example = Example(chosen, resolved.problem, resolved.constant, block)
    if missing or not example.variant.has_kernels:
        return example, ""
    try:
        example.passes(architecture)
    except UnsupportedVariant as error:
        instead = example_of(example.variant)
        return instead, f"{key}: {error.refusal.short}. So it is shown for {instead.compiled_for}."
    return example, ""
