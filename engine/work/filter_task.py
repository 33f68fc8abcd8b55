"""The task of filtering, for the pipeline, and what it shares with the tasks of other steps."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, structs

from engine.device.backend import Backend, Buffers
from engine.device_info import DeviceInfo
from engine.errors import BadValue, UnknownName
from engine.geometry.block import Block, UnsupportedVariant
from engine.geometry.border import Border, Reach
from engine.mask.mask import Mask
from engine.results.problem import Answer
from engine.run.task import Choice, Job, Task
from engine.run.variant import V
from engine.work.filtering.planner import choose
from engine.work.filtering.variants import VARIANTS, Variant, variant
from engine.work.pictures import DTYPES, Operands
from engine.work.planned import PlannedStep
from engine.work.problem import RESULT_TYPES, PictureProblem, Problem
from engine.work.steps import MaskStep

P = TypeVar("P", bound=PictureProblem)
C = TypeVar("C")


class Among(Struct, frozen=True, eq=False):
    """Where a step of a chain is planned: the picture, the device, and whether it is computed in parts."""

    samples: np.ndarray
    device: DeviceInfo
    in_parts: bool = False
    part_rows: int | None = None  # of the parts that `auto` chooses for

    @property
    def white(self) -> float:
        """White in the picture."""
        kind = self.samples.dtype
        return 1.0 if kind == np.float32 else float(np.iinfo(kind).max)


class PictureTask(Task[P, Operands[C], V]):
    """A task whose operands are a picture (H, W, C) and what its variant is compiled with."""

    def allocate(self, backend: Backend, job: Job[P, Operands[C], V], host_out: Any = None) -> Buffers:
        """Return buffers for the picture and for the array that the variant writes."""
        operands, problem = job.operands, job.problem
        if host_out is None and problem.result_shape != operands.samples.shape:
            host_out = np.empty(problem.result_shape, problem.result_dtype)
        return backend.allocate(operands.samples, host_out, operands.layout, problem.result_dtype)

    def upload(self, backend: Backend, operands: Operands[C], buffers: Buffers) -> None:
        """Copy the picture to the device."""
        backend.upload(operands.samples, buffers)

    def part(self, job: Job[P, Operands[C], V], samples: np.ndarray) -> Job[P, Operands[C], V]:
        """Return the same job for a part of its picture, as a picture of its own."""
        problem = job.problem.of_size(*samples.shape[:2])
        return replace(job, problem=problem, operands=replace(job.operands, samples=samples))

    def constant(self, operands: Operands[C]) -> C:
        """Return the mask, the patch, or the planned steps."""
        return operands.constant

    def labels(self, job: Job[P, Operands[C], V]) -> dict[str, object]:
        """Return the layout of the rows, where it can be chosen."""
        return {"layout": str(job.operands.layout) if job.variant.device == "cuda" else ""}

    def answer(self, values: np.ndarray, problem: P, operands: Operands[C]) -> Answer:
        """Return what a person gets from the array that a variant wrote."""
        return Answer(values)


class StepTask(PictureTask[P, C, V]):
    """A task that does a step: alone, or among the others of a chain."""

    @abstractmethod
    def described(
        self,
        step: Any,
        samples: np.ndarray,
        given: np.ndarray,
        result_type: str,
        patch: np.ndarray | None,
    ) -> tuple[P, C]:
        """Return the problem of a step alone, and its constant; an EngineError for an illegal value.

        Parameters
        ----------
        samples : ndarray of shape (H, W, C)
        given : ndarray
            The picture as it was given: results may be of its type.
        result_type : str
            "float32" or "same", where the step leaves a choice.
        patch : ndarray of shape (h, w, C), optional
            A patch that is no part of the picture.
        """

    @abstractmethod
    def known(self, step: Any) -> tuple[V, ...]:
        """Return every variant that may do a step, in teaching order."""

    @abstractmethod
    def named(self, step: Any) -> V:
        """Return the variant that a step names; UnknownName where there is none."""

    @abstractmethod
    def choice(
        self, step: Any, problem: P, constant: C, device: DeviceInfo, *, in_parts: bool = False
    ) -> Choice[V]:
        """Return the variant and the block of a step alone on a device; `auto` says why it chose it."""


MaskJob = Job[Problem, Operands[Mask], Variant]


AnyStepTask = StepTask[Any, Any, Any]


class Filtering(StepTask[Problem, Mask, Variant]):
    """Correlation of a picture with a mask."""

    problem = Problem
    oracle = "engine.work.filtering.oracle"
    variants = VARIANTS

    def compared(self, job: MaskJob) -> tuple[Any, ...]:
        """Return the picture, the mask, the problem, and what the variant adds to the bound."""
        mask, samples = job.operands.constant, job.operands.samples
        return samples, mask, job.problem, job.variant.added_to(job.problem, mask, samples)

    def refuse_operands(self, variant: Variant, operands: Operands[Mask]) -> None:
        """Refuse a picture with NaN or infinity where a variant cannot keep them apart."""
        refuse_non_finite(variant, operands.samples)

    def reach(self, job: MaskJob) -> Reach:
        """Return the cells under the mask."""
        return structs.replace(job.problem.reach, exact=job.variant.band_invariant)

    def labels(self, job: MaskJob) -> dict[str, object]:
        """Return the mask's name and weights, and the layout where it can be chosen."""
        mask = job.operands.constant
        return super().labels(job) | {"mask_name": mask.title, "weights_digest": mask.weights_digest}

    def described(
        self,
        step: MaskStep,
        samples: np.ndarray,
        given: np.ndarray,
        result_type: str,
        patch: np.ndarray | None = None,
    ) -> tuple[Problem, Mask]:
        """Return the problem of a mask alone, and the mask as it is applied."""
        mask, result_dtype = step.applied, result_dtype_for(result_type, given, samples)
        return describe_problem(samples, mask, step.border, step.cval, result_dtype), mask

    def known(self, step: MaskStep) -> tuple[Variant, ...]:
        """Return every variant."""
        return tuple(VARIANTS)

    def named(self, step: MaskStep) -> Variant:
        """Return the variant that a step names."""
        return variant(step.variant)

    def choice(
        self, step: MaskStep, problem: Problem, constant: Mask, device: DeviceInfo, *, in_parts: bool = False
    ) -> Choice[Variant]:
        """Return the variant and the block of a mask alone; `auto` takes 0.1 to 0.4 ms."""
        return choose(step.variant, problem, constant, step.block, device, in_parts)


def planned_mask(
    step: MaskStep, inputs: tuple[int, ...], key: str, block: Block | None, problem: Problem, mask: Mask
) -> PlannedStep:
    """Return a mask of a chain with its variant and its problem."""
    sides = zip(problem.anchor, problem.mask_shape, strict=True)
    rows, columns = (max(before, side - 1 - before) for before, side in sides)
    return PlannedStep(
        step, inputs, key, block, problem, mask,
        given=(problem.dtype,),
        reach=max(problem.mask_shape) - 1,
        reached=(rows, columns),
        cost=4 * problem.taps,
        border=problem.border,
    )  # fmt: skip


FILTERING = Filtering()


def result_dtype_for(wanted: str, image: np.ndarray, samples: np.ndarray) -> str:
    """Return the sample type of a result: `wanted` is "float32", or "same" for that of the picture as given.

    Raises UnknownName for another word, BadValue for "same" with a type that results cannot have.
    """
    if wanted not in RESULT_TYPES:
        raise UnknownName(
            f"results of type {wanted!r}",
            "there is no such choice",
            f"Choose one of {', '.join(RESULT_TYPES)}.",
        )
    if wanted == "same" and image.dtype.newbyteorder("=") != samples.dtype:
        raise BadValue(
            f"results of type {image.dtype}, as the picture",
            f"a picture of that type is filtered as {samples.dtype}, and results are {', '.join(DTYPES)}",
            "Choose float32 results, or convert the picture first.",
        )
    return samples.dtype.name if wanted == "same" else wanted


def describe_problem(
    samples: np.ndarray, mask: Mask, border: Border | str, cval: float, result_dtype: str = "float32"
) -> Problem:
    """Return the problem of filtering `samples` (H x W x C) with a mask.

    Raises BadValue for a constant that is not a finite float32 or an illegal type of the result, UnknownName
    for an unknown border.
    """
    if not abs(cval) <= float(np.finfo(np.float32).max):
        raise BadValue(
            f"a constant border of {cval:g}",
            "it is not a finite number of float32",
            "Keep it between -3.4e+38 and 3.4e+38.",
        )
    height, width, channels = samples.shape
    return Problem(
        height=height,
        width=width,
        channels=channels,
        dtype=samples.dtype.name,
        mask_shape=mask.shape,
        anchor=mask.anchor,
        border=Border.named(border),
        cval=float(cval),
        result_dtype=result_dtype,
    )


def refuse_non_finite(variant: Variant, samples: np.ndarray) -> None:
    """Raise UnsupportedVariant for a picture with NaN or infinity that a variant would spread."""
    refusal = variant.refuse_samples(samples)
    if refusal is not None:
        raise UnsupportedVariant(f"variant '{variant.key}'", refusal)


def random_mask(rows: int, columns: int, seed: int) -> Mask:
    """Return random weights of which none are special: no zeros, no symmetry, not separable."""
    random = np.random.default_rng(seed).uniform(0.5, 1.5, (rows, columns))
    return Mask(random / (rows * columns), name=f"random {rows} × {columns}")
