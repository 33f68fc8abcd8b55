"""Steps of the page as jobs and chains of the engine, and back; what runs of one job share. No Qt in here."""

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import structs

from engine.device_info import AUTO
from engine.errors import EngineError
from engine.geometry.border import RangeMode
from engine.host.protocol import PictureHandle
from engine.host.request import VariantInfo
from engine.mask.mask import Mask
from engine.results.measurement import Environment, Measurement
from engine.results.metrics import comparable
from engine.work.messages import PictureJob, measured_shape
from engine.work.problem import ChainProblem, OperationProblem, Parameters, Problem
from engine.work.steps import PICTURE, AnyStep, Chain, CombineStep, MaskStep, OperationStep, digest_of
from gui.explore.state import (
    COMBINE,
    KERNEL,
    MASK_USE,
    SHARED,
    WHERE,
    EditedStep,
    State,
    StepSettings,
    preset_of,
    title_of,
    values_of,
)

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


def job_of(step: EditedStep, picture: PictureHandle, range_mode: RangeMode) -> PictureJob:
    """Return the job that a step is for a picture, by itself."""
    settings = step.settings
    kernel = values_of(KERNEL, settings)
    done: MaskStep | OperationStep
    if step.operation:
        # With a patch from a file, the whole file is the patch.
        parameters = {} if settings.patch_path else settings.parameters
        done = OperationStep(operation=step.operation, settings=Parameters(parameters.items()), **kernel)
    else:
        done = MaskStep(mask=step.applied_mask, border=settings.border, cval=settings.cval, **kernel)
    own = {"result_type": "same", "patch_path": settings.patch_path} if step.operation else {}
    return PictureJob(
        chain=Chain((done,), range=range_mode), picture=picture, **(values_of(WHERE, settings) | own)
    )


def step_of(job: PictureJob) -> EditedStep:
    """Return the step that does what a job of one step did."""
    assert job.step is not None
    where = values_of(WHERE, job) | ({"result_type": "float32"} if job.operation else {})
    step = _page_step(job.step, StepSettings(**where, range_mode=job.range_mode))
    return step.with_settings(patch_path=job.patch_path) if job.operation else step


def problem_of(job: PictureJob) -> Problem:
    """Return the problem of a mask; of a large picture that of the part that a run measures."""
    step, dtype = job.filter, job.picture.dtype
    assert step is not None
    of_mask = values_of(("border", "cval"), step) | values_of(("anchor",), step.applied)
    of_mask |= {"mask_shape": step.applied.shape}
    result_dtype = dtype if job.result_type == "same" else "float32"
    return Problem(*measured_shape(job.picture), dtype=dtype, result_dtype=result_dtype, **of_mask)


def failed_run(job: PictureJob, variant: VariantInfo | None, error: EngineError) -> Measurement[Any] | None:
    """Return the result of a run that ended with an error: a run is never missing among the results.

    None where its problem is not known here: with a patch from a file, or a refused parameter.
    """
    problem = None
    with suppress(EngineError):
        problem = _problem(job)
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
    known: Operation = import_module("engine.work.operations.contract").operation_named(key)
    return known


_ALONE = Mask([[1.0]])


def chain_of(state: State, range_mode: RangeMode = "clip") -> Chain:
    """Return the steps as a chain; an EngineError says why they form none."""
    return Chain(tuple(map(engine_step, state.steps)), title=state.title, range=range_mode)


def written_chain(state: State, range_mode: RangeMode, *, whole: bool = True) -> Chain:
    """Return the steps for a file, up to the selected one unless `whole`; presets have their keys."""
    shown = state if whole else replace(state, steps=state.steps[: state.selected + 1], selected=0)
    chain = chain_of(shown, range_mode)
    steps = list(chain.steps)
    for at, step in enumerate(steps):
        if isinstance(step, MaskStep) and (known := preset_of(step.mask)):
            steps[at] = structs.replace(step, written=known.key)
    return structs.replace(chain, steps=tuple(steps))


def chain_job(
    state: State, picture: PictureHandle, range_mode: RangeMode, *, whole: bool, alone: bool
) -> PictureJob:
    """Return the job of a chain on a picture, up to the selected step unless `whole`.

    With `alone` a result that needs one step only, which reads the picture itself, is the job of that step;
    one that needs none, because all its steps are switched off, is the picture: a mask of one 1.
    """
    chain, step = chain_of(state, range_mode), state.step
    shown = "" if whole or step is state.steps[-1] else step.id
    nodes = chain.nodes(shown)
    if alone and len(nodes) == 1 and nodes[0].step.kind != CombineStep.kind:
        only = next(one for one in state.steps if one.id == nodes[0].step.id)
        return job_of(only.with_settings(result_type="float32"), picture, range_mode)
    if alone and not nodes:
        return job_of(EditedStep(_ALONE).with_settings(result_type="float32"), picture, range_mode)
    # As on the command line: copies to a GPU and back take longer than short chains.
    device = ON_CPU if step.settings.device == AUTO else step.settings.device
    return PictureJob(chain=chain, shown=shown, picture=picture, device=device, layout=step.settings.layout)


def state_of(chain: Chain, before: State) -> State:
    """Return the state with the steps of a chain; what is shared stays, the picture too."""
    shared = values_of(SHARED, before.step.settings) | {"range_mode": chain.range}
    common = StepSettings(**shared, baseline=before.step.settings.baseline)
    steps = tuple(_page_step(step, common) for step in chain.steps)
    return replace(before, steps=steps, selected=len(steps) - 1, title=chain.title)


def engine_step(step: EditedStep) -> AnyStep:
    """Return a step of the page as the engine has it, its mask as it was typed."""
    settings = step.settings
    common: dict[str, Any] = {"id": step.id, "input": step.input, "on": step.on}
    if step.operation == COMBINE:
        return CombineStep(**common, second=step.second, **{"how": "add", **settings.parameters})
    common |= values_of(KERNEL, settings)
    if step.operation:
        parameters = Parameters(settings.parameters.items())
        return OperationStep(**common, operation=step.operation, settings=parameters)
    use = values_of(MASK_USE, settings) | {"normalise": settings.normalise and step.can_normalise}
    return MaskStep(**common, mask=step.mask, **use)


def _page_step(step: AnyStep, common: StepSettings) -> EditedStep:
    edited = EditedStep(_ALONE, settings=common, id=step.id, input=step.input, on=step.on)
    kernel = values_of(KERNEL, step)
    if isinstance(step, MaskStep):
        edited = replace(edited, mask=step.mask, title=title_of(step.mask))
        return edited.with_settings(**kernel, **values_of(MASK_USE, step))
    if isinstance(step, OperationStep):
        parameters = dict(step.settings)
        return edited.with_operation(step.operation).with_settings(**kernel, parameters=parameters)
    parameters = {"how": step.how} | ({"weight": step.weight} if step.how == "blend" else {})
    edited = replace(edited.with_operation(COMBINE), second=step.second or PICTURE)
    return edited.with_settings(parameters=parameters)
