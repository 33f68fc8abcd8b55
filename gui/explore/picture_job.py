"""What the page has done with a picture: its problem, what its runs share, its result where it failed."""

from collections.abc import Hashable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeGuard, Union

from engine.errors import EngineError
from engine.host.messages import VariantInfo
from engine.host.protocol import PictureHandle
from engine.mask.mask import Mask
from engine.results.compare import comparable
from engine.results.environment import Environment
from engine.results.measurement import Measurement
from engine.work.chain_problem import ChainProblem
from engine.work.filtering.measured_part import measured_shape
from engine.work.filtering.messages import FilterJob
from engine.work.filtering.problem import Problem
from engine.work.operations.messages import OperationJob
from engine.work.operations.problem import OperationProblem
from gui.explore.state import Step

if TYPE_CHECKING:
    from engine.work.messages import ChainJob
    from engine.work.operations.contract import Operation

StepJob = FilterJob | OperationJob
PictureJob = Union[FilterJob, OperationJob, "ChainJob"]


def is_chain(job: "PictureJob | None") -> "TypeGuard[ChainJob]":
    """Whether a job is that of several steps. Its module takes a while to import, and need not be here."""
    return job is not None and not isinstance(job, StepJob)


def comparable_of(job: PictureJob) -> Hashable:
    """Return what runs must share with those of a job: all but kernel, block, device and layout.

    For a convolution it is what `engine.results.compare.comparable` returns for a result.
    """
    if isinstance(job, FilterJob):
        # Of no sweep over several machines.
        return Problem.task, problem_of(job).comparable, job.mask.weights_digest, ""
    if is_chain(job):
        height, width, channels = job.picture.pixels.shape
        problem = ChainProblem(height, width, channels, job.picture.dtype, "", "")
        steps = import_module("engine.work.steps")
        return ChainProblem.task, problem.comparable, steps.digest_of(job.chain.nodes(job.shown)), ""
    assert isinstance(job, OperationJob)
    parameters = dict(job.settings)
    # Parameters that are refused have no runs. A default that was chosen is the same as one left alone.
    with suppress(EngineError):
        parameters = _parameters_of(job)
    pixels = job.picture.pixels
    return job.operation, tuple(sorted(parameters.items())), pixels.shape, pixels.dtype, job.patch_path


def comparable_of_result(result: Measurement[Any], patch_path: str = "") -> Hashable:
    """Return what `comparable_of` returns for the job of a result whose picture need not be here."""
    problem = result.problem
    if not isinstance(problem, OperationProblem):
        return comparable(result)
    shape = problem.height, problem.width, problem.channels
    parameters = tuple(sorted(problem.parameters.items()))
    return problem.operation, parameters, shape, problem.dtype, patch_path


def job_of(step: Step, picture: PictureHandle, range_mode: str) -> PictureJob:
    """Return the job that a step is for a picture."""
    settings = step.settings
    if not step.operation:
        return FilterJob(picture=picture, mask=step.applied_mask, range_mode=range_mode, **settings.options)
    return OperationJob(
        operation=step.operation,
        # With a patch from a file, the whole file is the patch.
        settings={} if settings.patch_path else dict(settings.parameters),
        variant=settings.variant,
        block=settings.block,
        device=settings.device,
        layout=settings.layout,
        picture=picture,
        patch_path=settings.patch_path,
    )


def step_of(job: PictureJob) -> Step:
    """Return the step that does what a job did."""
    if isinstance(job, FilterJob):
        return Step.of(job.mask).with_settings(range_mode=job.range_mode, **job.options)
    assert isinstance(job, OperationJob)
    own = {"parameters": dict(job.settings), "patch_path": job.patch_path}
    where = {name: getattr(job, name) for name in ("variant", "block", "device", "layout")}
    return Step(Mask([[1.0]])).with_operation(job.operation).with_settings(**own, **where)


def problem_of(job: FilterJob) -> Problem:
    """Return the problem of a convolution; of a large picture that of the part that a run measures."""
    picture, mask = job.picture, job.mask
    height, width, channels = measured_shape(picture)
    return Problem(
        height=height,
        width=width,
        channels=channels,
        dtype=picture.dtype,
        mask_shape=mask.shape,
        anchor=mask.anchor,
        border=job.border,
        cval=job.cval,
        result_dtype=picture.dtype if job.result_type == "same" else "float32",
    )


def failed_run(job: PictureJob, variant: VariantInfo | None, error: EngineError) -> Measurement[Any] | None:
    """Return the result of a run that ended with an error: a run is never missing among the results.

    None where its problem is not known here: with a patch from a file, or a refused parameter.
    """
    if is_chain(job):
        failed: Measurement[Any] = import_module(".chain.chain_job", __package__).failed_chain(job, error)
        return failed
    assert isinstance(job, StepJob)
    mask = job.mask if isinstance(job, FilterJob) else None
    problem = problem_of(job) if isinstance(job, FilterJob) else _operation_problem(job)
    if problem is None:
        return None
    return Measurement(
        variant=job.variant,
        title=variant.title if variant else job.variant,
        device=job.device,
        problem=problem,
        mask_name=mask.name if mask else "",
        weights_digest=mask.weights_digest if mask else None,
        block=job.block,
        environment=Environment(job.device),
        failure=error.failure,
        layout=str(job.layout) if variant and variant.kind == "cuda" else "",
    )


def _operation_problem(job: OperationJob) -> OperationProblem | None:
    pixels = job.picture.pixels
    with suppress(EngineError):
        if not job.patch_path:
            return operation_of(job.operation).problem_of(pixels.shape, pixels.dtype, _parameters_of(job))
    return None


def _parameters_of(job: OperationJob) -> dict[str, Any]:
    return operation_of(job.operation).read(job.settings)


def operation_of(key: str) -> "Operation":
    """Return the operation of a key."""
    # Its modules take a while to import; whoever has chosen an operation has them.
    from engine.work.operations.table import OPERATIONS

    return OPERATIONS[key]
