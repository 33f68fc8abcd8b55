"""What the page has done with a picture: job and problem, what runs share, the result where it failed."""

from collections.abc import Hashable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.geometry.range_modes import RangeMode
from engine.host.messages import VariantInfo
from engine.host.protocol import PictureHandle
from engine.mask.mask import Mask
from engine.results.measurement import Environment, Measurement
from engine.results.metrics import comparable
from engine.work.filtering.problem import Problem
from engine.work.measured_part import measured_shape
from engine.work.messages import PictureJob
from engine.work.operations.problem import OperationProblem
from engine.work.operations.problem import Settings as Parameters
from engine.work.picture_problem import ChainProblem
from engine.work.steps import Chain, MaskStep, OperationStep, digest_of
from gui.explore.state import KERNEL, WHERE, Step, values_of

if TYPE_CHECKING:
    from engine.work.operations.contract import Operation

ON_CPU = "cpu"


def is_chain(job: PictureJob | None) -> bool:
    """Whether a job has several steps, or one that is computed as a step among others."""
    return job is not None and job.step is None


def comparable_of(job: PictureJob) -> Hashable:
    """Return what runs must share with those of a job: all but kernel, block, device and layout.

    But for another operation it is what `engine.results.metrics.comparable` returns for a result.
    """
    operation = job.operation
    if operation is None:
        problem = _problem(job)
        digest = job.mask.weights_digest if job.filter else digest_of(job.chain.nodes(job.shown))
        return problem.task, problem.comparable, digest
    parameters = dict(operation.settings)
    # Parameters that are refused have no runs. A default that was chosen is the same as one left alone.
    with suppress(EngineError):
        parameters = operation.known.read(parameters)
    pixels = job.picture.pixels
    return operation.operation, tuple(sorted(parameters.items())), pixels.shape, pixels.dtype, job.patch_path


def comparable_of_result(result: Measurement[Any], patch_path: str = "") -> Hashable:
    """Return what `comparable_of` returns for the job of a result whose picture need not be here."""
    problem = result.problem
    if problem.task != OperationProblem.task:
        return comparable(result)
    shape = problem.height, problem.width, problem.channels
    parameters = tuple(sorted(problem.parameters.items()))
    return problem.operation, parameters, shape, problem.dtype, patch_path


def job_of(step: Step, picture: PictureHandle, range_mode: RangeMode) -> PictureJob:
    """Return the job that a step is for a picture, by itself."""
    settings = step.settings
    kernel = values_of(KERNEL, settings)
    done: MaskStep | OperationStep
    if step.operation:
        # With a patch from a file, the whole file is the patch.
        given = {} if settings.patch_path else settings.parameters
        done = OperationStep(operation=step.operation, settings=Parameters(given.items()), **kernel)
    else:
        done = MaskStep(mask=step.applied_mask, border=settings.border, cval=settings.cval, **kernel)
    own = {"result_type": "same", "patch_path": settings.patch_path} if step.operation else {}
    return PictureJob(
        chain=Chain((done,), range=range_mode), picture=picture, **(values_of(WHERE, settings) | own)
    )


def step_of(job: PictureJob) -> Step:
    """Return the step that does what a job of one step did."""
    how = values_of(KERNEL, job) | values_of(WHERE, job)
    if (mask := job.filter) is not None:
        own = {"border": mask.border, "cval": mask.cval}
        return Step.of(mask.applied).with_settings(range_mode=job.range_mode, **own, **how)
    operation = job.operation
    assert operation is not None
    how |= {"parameters": dict(operation.settings), "patch_path": job.patch_path, "result_type": "float32"}
    return Step(Mask([[1.0]])).with_operation(operation.operation).with_settings(**how)


def problem_of(job: PictureJob) -> Problem:
    """Return the problem of a mask; of a large picture that of the part that a run measures."""
    picture, step = job.picture, job.filter
    assert step is not None
    mask, (height, width, channels) = step.applied, measured_shape(picture)
    return Problem(
        height=height,
        width=width,
        channels=channels,
        dtype=picture.dtype,
        mask_shape=mask.shape,
        anchor=mask.anchor,
        border=step.border,
        cval=step.cval,
        result_dtype=picture.dtype if job.result_type == "same" else "float32",
    )


def failed_run(job: PictureJob, variant: VariantInfo | None, error: EngineError) -> Measurement[Any] | None:
    """Return the result of a run that ended with an error: a run is never missing among the results.

    None where its problem is not known here: with a patch from a file, or a refused parameter.
    """
    try:
        problem = _problem(job)
    except EngineError:
        return None
    if problem is None:
        return None
    mask = job.mask if job.filter else None
    digest = mask.weights_digest if mask else None
    key, title = job.variant, variant.title if variant else job.variant
    if is_chain(job):
        key, title = ("cpu-chain" if job.device == ON_CPU else "cuda-chain"), "Chain"
        digest = digest_of(job.chain.nodes())
    return Measurement(
        variant=key,
        title=title,
        device=job.device,
        problem=problem,
        mask_name=mask.name if mask else "",
        weights_digest=digest,
        block=job.block,
        environment=Environment(job.device),
        failure=error.failure,
        layout=str(job.layout) if variant and variant.kind == "cuda" else "",
    )


def _problem(job: PictureJob) -> Any:
    """Return the problem of a job; None with a patch from a file."""
    operation, pixels = job.operation, job.picture.pixels
    if job.filter is not None:
        return problem_of(job)
    if operation is None:
        title = job.chain.title or ", ".join(step.title for step in job.chain.steps)
        height, width, channels = pixels.shape
        return ChainProblem(height, width, channels, pixels.dtype, title, job.chain.text)
    if job.patch_path:
        return None
    known = operation.known
    return known.problem_of(pixels.shape, pixels.dtype, known.read(dict(operation.settings)))


def operation_of(key: str) -> "Operation":
    """Return the operation of a key."""
    # Its modules take a while to import; whoever has chosen an operation has them.
    known: Operation = import_module("engine.work.operations.table").operation_named(key)
    return known
