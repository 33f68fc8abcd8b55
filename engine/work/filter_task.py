"""The task of filtering, for the pipeline, and what it shares with the tasks of other steps."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, structs

from engine.device.backend import Backend, Buffers
from engine.device_info import DeviceInfo
from engine.errors import BadValue, UnknownName
from engine.geometry.block import UnsupportedVariant
from engine.geometry.border import Border, Reach
from engine.mask.mask import Mask
from engine.results.answer import Answer
from engine.run.task import Choice, Job, Task
from engine.run.variant import V
from engine.work.filtering.planner import choose
from engine.work.filtering.variants import VARIANTS, Variant
from engine.work.problem import DTYPES, RESULT_TYPES, PictureProblem, Problem
from engine.work.steps import MaskStep

P = TypeVar("P", bound=PictureProblem)
MaskJob = Job[Problem, Variant]


class Among(Struct, frozen=True, eq=False):
    """Where a step is planned: the picture, the device, and whether it is computed in parts."""

    samples: np.ndarray
    device: DeviceInfo
    # Of parts no variant is taken whose results depend on where a picture is cut, and `auto` chooses for so
    # many rows.
    in_parts: bool = False
    part_rows: int | None = None

    @property
    def white(self) -> float:
        """White in the picture."""
        kind = self.samples.dtype
        return 1.0 if kind == np.float32 else float(np.iinfo(kind).max)


class PictureTask(Task[P, V]):
    """A task whose operand is a picture (H, W, C)."""

    def allocate(self, backend: Backend, job: Job[P, V], host_out: Any = None) -> Buffers:
        """Return buffers for the picture and for the array that the variant writes."""
        samples, problem = job.operands, job.problem
        if host_out is None and problem.result_shape != samples.shape:
            host_out = np.empty(problem.result_shape, problem.result_dtype)
        return backend.allocate(samples, host_out, job.layout, problem.result_dtype)

    def part(self, job: Job[P, V], samples: np.ndarray) -> Job[P, V]:
        """Return the same job for a part of its picture, as a picture of its own."""
        return replace(job, problem=job.problem.of_size(*samples.shape[:2]), operands=samples)

    def refuse_samples(self, job: Job[P, V]) -> None:
        """Refuse samples of a picture, or of a part of one, that the job cannot take."""
        self.refuse_operands(job)

    def between(self, job: Job[P, V]) -> int:
        """Return how many pictures of float32 there are beside the picture and the result, on the CPU."""
        return 0

    def labels(self, job: Job[P, V]) -> dict[str, object]:
        """Return the layout of the rows, where it can be chosen."""
        return {"layout": str(job.layout) if job.variant.device == "cuda" else ""}

    def answer(self, values: np.ndarray, job: Job[P, V]) -> Answer:
        """Return what a person gets from the array that a variant wrote."""
        return Answer(values)


class Filtering(PictureTask[Problem, Variant]):
    """Correlation of a picture with a mask."""

    problem = Problem
    oracle = "engine.work.filtering.oracle"
    variants = VARIANTS

    def compared(self, job: MaskJob) -> tuple[Any, ...]:
        """Return the picture, the mask, the problem, and what the variant adds to the bound."""
        added = job.variant.added_to(job.problem, job.constant, job.operands)
        return job.operands, job.constant, job.problem, added

    def refuse_operands(self, job: MaskJob) -> None:
        """Refuse a picture with NaN or infinity where the variant cannot keep them apart."""
        refuse_non_finite(job.variant, job.operands)

    def reach(self, job: MaskJob) -> Reach:
        """Return the cells under the mask."""
        return structs.replace(job.problem.reach, exact=job.variant.band_invariant)

    def labels(self, job: MaskJob) -> dict[str, object]:
        """Return the mask's name and weights, and the layout where it can be chosen."""
        mask: Mask = job.constant
        return super().labels(job) | {"mask_name": mask.title, "weights_digest": mask.weights_digest}

    def described(
        self, step: MaskStep, samples: np.ndarray, original: np.ndarray, result_type: str
    ) -> tuple[Problem, Mask]:
        """Return the problem of a mask alone on a picture (H, W, C), and the mask as it is applied.

        Results are "float32", or the "same" as the original picture. Raises UnknownName for another word,
        BadValue for "same" with a type that results cannot have.
        """
        if result_type not in RESULT_TYPES:
            remedy = f"Choose one of {', '.join(RESULT_TYPES)}."
            raise UnknownName(f"results of type {result_type!r}", "there is no such choice", remedy)
        if result_type == "same" and original.dtype.newbyteorder("=") != samples.dtype:
            what = f"results of type {original.dtype}, as the picture"
            of = f"a picture of that type is filtered as {samples.dtype}"
            remedy = "Choose float32 results, or convert the picture first."
            raise BadValue(what, f"{of}, and results are {', '.join(DTYPES)}", remedy)
        mask, result_dtype = step.applied, samples.dtype.name if result_type == "same" else result_type
        return describe_problem(samples, mask, step.border, step.cval, result_dtype), mask

    def choice(self, step: MaskStep, problem: Problem, constant: Mask, among: Among) -> Choice[Variant]:
        """Return the variant and the block of a mask on a device; `auto` takes 0.1 to 0.4 ms."""
        if among.part_rows is not None:
            problem = structs.replace(problem, height=among.part_rows)
        return choose(step.variant, problem, constant, step.block, among.device, among.in_parts)


FILTERING = Filtering()


def describe_problem(
    samples: np.ndarray, mask: Mask, border: Border | str, cval: float, result_dtype: str = "float32"
) -> Problem:
    """Return the problem of filtering `samples` (H x W x C) with a mask.

    Raises BadValue for a constant beyond float32 or an illegal type of the result, UnknownName for a border.
    """
    if not abs(cval) <= float(np.finfo(np.float32).max):
        what = f"a constant border of {cval:g}"
        raise BadValue(what, "it is not a finite number of float32", "Keep it between -3.4e+38 and 3.4e+38.")
    height, width, channels = samples.shape
    of_mask = mask.shape, mask.anchor, Border.named(border), float(cval)
    return Problem(height, width, channels, samples.dtype.name, *of_mask, result_dtype)


def refuse_non_finite(variant: Variant, samples: np.ndarray) -> None:
    """Raise UnsupportedVariant for a picture with NaN or infinity that a variant would spread."""
    refusal = variant.refuse_samples(samples)
    if refusal is not None:
        raise UnsupportedVariant(f"variant '{variant.key}'", refusal)


def random_mask(rows: int, columns: int, seed: int) -> Mask:
    """Return random weights of which none are special: no zeros, no symmetry, not separable."""
    random = np.random.default_rng(seed).uniform(0.5, 1.5, (rows, columns))
    return Mask(random / (rows * columns), name=f"random {rows} × {columns}")
