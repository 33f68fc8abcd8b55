"""What the person has chosen on the page Explore, as one frozen value, which undo and sessions bring back.

A state has a picture's source and steps; panels show and change the selected step. No Qt in here.
"""

from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.device_info import AUTO
from engine.errors import EngineError, MaskError
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border, RangeMode
from engine.host.protocol import OpenPicture, PictureHandle
from engine.host.request import VariantInfo
from engine.mask.mask import Mask
from engine.mask.typed import TypedWeights
from engine.results.measurement import Environment, Measurement
from engine.results.metrics import comparable
from engine.verify.verification import Region
from engine.work.messages import PictureJob, measured_shape
from engine.work.problem import ChainProblem, OperationProblem, Problem
from engine.work.problem import Settings as Parameters
from engine.work.steps import PICTURE, Chain, MaskStep, OperationStep, digest_of
from gui.explore.mask.preset_names import name_of, title_of

if TYPE_CHECKING:
    from engine.work.operations.contract import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything of a step that is neither its operation nor the mask's cells.

    First the fields of the engine's steps and requests, by their names; then those of the window alone.
    """

    variant: str = AUTO
    block: Block | None = None
    border: Border = Border.ZERO
    cval: float = 0.0
    flip: bool = False
    normalise: bool = False
    device: str = AUTO
    layout: Layout = Layout.PITCHED
    result_type: str = "float32"

    # How results outside the picture's range are shown.
    range_mode: RangeMode = "clip"
    # Variant that speed-ups are measured against.
    baseline: str = "cpu-serial"
    # Runs cross these with the kernels; none: only `block`.
    blocks: tuple[Block, ...] = ()
    # Of an operation beside convolution: those that differ from their defaults, and the file of a patch.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    patch_path: str = ""


def values_of(names: Iterable[str], whole: object) -> dict[str, Any]:
    """Return what something has of some settings, by name."""
    return {name: getattr(whole, name) for name in names}


KERNEL = ("variant", "block")
"""Settings that say what computes a step."""
WHERE = ("device", "layout", "result_type")
"""Settings that say where, and what is written."""
MASK_USE = ("border", "cval", "flip", "normalise")
"""Settings that say how a mask is applied."""
PER_OPERATION = (*KERNEL, "baseline", "blocks", "parameters", "patch_path")
"""Settings that each operation of a step has for itself."""
SHARED = (*WHERE, "range_mode")
"""Settings that hold for the whole page: all steps have the same."""
COMBINE = "combine"
"""Stands for an operation in a step that makes one of two results; its parameters are `how` and `weight`."""
FIRST_ID = "s1"
# What only runs read: no result depends on them.
_OF_RUNS = ("baseline", "blocks")
# Its variant on the CPU becomes the baseline once the engine has listed it.
_NEVER_CHOSEN = Settings(baseline="")
_TITLES = {
    "border": "Border",
    "cval": "Border value",
    "flip": "Flip",
    "normalise": "Normalise",
    "variant": "Kernel",
    "block": "Block",
    "device": "Device",
    "layout": "Rows",
    "result_type": "Output type",
    "range_mode": "Display range",
    "baseline": "Baseline",
    "blocks": "Block sizes",
    "patch_path": "Patch",
}


@dataclass(frozen=True, slots=True)
class PictureSource:
    """Where a picture comes from: a file, or a sample by its key; with neither it cannot be opened again."""

    path: str = ""
    sample: str = ""
    crop: Region | None = None  # the part of it that is the picture; None: all of it

    @classmethod
    def of(cls, picture: PictureHandle) -> "PictureSource":
        """Return where a picture came from."""
        return cls(picture.path, picture.sample, picture.crop)

    @property
    def request(self) -> OpenPicture | None:
        """What opens it again; None where nothing does."""
        return OpenPicture(self.path, self.sample, self.crop) if self.path or self.sample else None


@dataclass(frozen=True, slots=True)
class Step:
    """One step: an operation, or the mask as typed with the name that it goes by, and its settings."""

    mask: Mask
    # Name of the mask, or of the one that it was edited from; empty where there was none.
    title: str = ""
    # Key of the operation, or COMBINE; empty for convolution with the mask.
    operation: str = ""
    settings: Settings = field(default_factory=Settings)
    # Those of the operations that were chosen before, by their keys.
    kept: Mapping[str, Settings] = field(default_factory=dict)
    # Its name in a chain, by which others read it.
    id: str = FIRST_ID
    # Id of the earlier step whose result it reads, or PICTURE; empty: the step before.
    input: str = ""
    # The other result, of a step that combines two.
    second: str = PICTURE
    # Switched off, its readers get what it reads.
    on: bool = True
    # Of the mask: a step with 1/9 is another one than that with 0.1111111111111111, with an equal mask.
    typed: TypedWeights | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "typed", self.mask.more_than_weights)

    @classmethod
    def of(cls, mask: Mask) -> "Step":
        """Return the step that a mask begins with."""
        return cls(mask, title_of(mask))

    def settings_of(self, operation: str) -> Settings:
        """Return the settings of an operation, whichever is chosen."""
        if operation == self.operation:
            return self.settings
        kept = self.kept.get(operation, _NEVER_CHOSEN)
        return replace(self.settings, **values_of(PER_OPERATION, kept))

    def with_operation(self, operation: str) -> "Step":
        """Return the step with another operation, and the settings that this had before."""
        if operation == self.operation:
            return self
        kept = {**self.kept, self.operation: self.settings}
        return replace(self, operation=operation, settings=self.settings_of(operation), kept=kept)

    def with_mask(self, mask: Mask, *, is_new: bool = False) -> "Step":
        """Return the step as a convolution with this mask: whoever changes it wants to see what it does.

        One that is new, and no edit of the mask before, does not go by the name of that.
        """
        title = title_of(mask) or ("" if is_new else self.title)
        return replace(self.with_operation(""), mask=mask, title=title)

    def with_settings(self, **fields: Any) -> "Step":
        """Return the step with other values of these settings."""
        return replace(self, settings=replace(self.settings, **fields))

    @property
    def can_normalise(self) -> bool:
        """Whether the mask has a sum to divide by."""
        try:
            self.mask.normalised()
        except MaskError:
            return False
        return True

    @property
    def applied_mask(self) -> Mask:
        """The mask as it is applied: normalised (where it has a sum) and flipped, by the settings.

        It has the name by which the window shows it.
        """
        mask, name = self.mask, name_of(self.mask, self.title)
        if mask.name != name:
            mask = mask.with_name(name)
        if self.settings.normalise and self.can_normalise:
            mask = mask.normalised()
        return mask.flipped() if self.settings.flip else mask

    @property
    def result_part(self) -> tuple[object, ...]:
        """What a result depends on."""
        settings = replace(self.settings, **values_of(_OF_RUNS, _NEVER_CHOSEN))
        return self.operation, self.mask, settings, self.id, self.input, self.second, self.on


@dataclass(frozen=True, slots=True)
class State:
    """The source of the picture, the steps, and which of them is selected: there is always one."""

    steps: tuple[Step, ...]
    selected: int = 0
    source: PictureSource | None = None
    # Name of the chain, or of the one that it was edited from; empty where there was none.
    title: str = ""

    @property
    def step(self) -> Step:
        """The selected step."""
        return self.steps[self.selected]

    @property
    def is_chain(self) -> bool:
        """Whether there is more to do than one step with the picture."""
        return len(self.steps) > 1 or self.step.operation == COMBINE

    def with_step(self, step: Step) -> "State":
        """Return the state with another one in the place of the selected step; what is shared, all have."""
        shared, steps = values_of(SHARED, step.settings), list(self.steps)
        if shared != values_of(SHARED, self.step.settings):
            steps = [other.with_settings(**shared) for other in steps]
        steps[self.selected] = step
        return replace(self, steps=tuple(steps))

    @property
    def result_part(self) -> tuple[object, ...]:
        """What a result depends on, beside the picture."""
        return self.selected, *(step.result_part for step in self.steps)


def words_of_change(step: Step, fields: Mapping[str, Any]) -> tuple[str, Hashable]:
    """Return what an edit of settings is called in the history, "Border: wrap", and its merge key.

    Edits of one number in a row, which share the key, are one edit; it is None for other settings.
    """
    changed: dict[str, tuple[object, str]] = {}
    for name, value in fields.items():
        old = getattr(step.settings, name)
        if name == "parameters":
            for key in (key for key in {**old, **value} if old.get(key) != value.get(key)):
                new = value.get(key, "default")
                changed[key.replace("_", " ").capitalize()] = new, str(new)
        elif value != old:
            changed[_TITLES[name]] = value, _text(name, value)
    is_number = all(isinstance(new, int | float) and not isinstance(new, bool) for new, _ in changed.values())
    key = (step.operation, *changed) if is_number and len(changed) == 1 else None
    return ", ".join(f"{title}: {words}" for title, (_, words) in changed.items()), key


def _text(name: str, value: Any) -> str:
    if name == "patch_path":
        return Path(value).name or "of the picture itself"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) if len(value) <= 3 else f"{len(value)} chosen"
    if value is None:
        return "default"
    return f"{value:g}" if isinstance(value, float) else str(value)


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
    known: Operation = import_module("engine.work.operations.table").operation_named(key)
    return known
