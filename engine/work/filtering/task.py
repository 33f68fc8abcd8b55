"""The task of filtering for the pipeline."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device_info import INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.geometry.cut import Reach
from engine.geometry.layout import Layout
from engine.geometry.refusal import UnsupportedVariant
from engine.mask.mask import Mask
from engine.run.task import Choice, Job, Task
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import VARIANTS, Variant

if TYPE_CHECKING:
    from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True, eq=False)
class FilterOperands:
    """A picture (H, W, C) of the problem's dtype with the mask that it is filtered by."""

    samples: np.ndarray
    mask: Mask
    layout: Layout = Layout.PITCHED


class Filtering(Task[Problem, FilterOperands, Variant]):
    """Correlation of a picture with a mask."""

    problem = Problem
    variants = VARIANTS

    def expected_launch_s(self, job: "FilterJob", device: DeviceInfo) -> float:
        """Estimate one launch, seconds.

        The plain loops on one core make about 0.3 G multiply-adds per second, the plain kernel on a small GPU
        10 G, the interpreter 5 M.
        """
        per_second = INTERPRETED_PER_S if device.key == SIMULATOR else 1e10 if device.kind == "cuda" else 3e8
        return 0.5 + job.problem.multiply_adds / per_second

    def allocate(self, backend: Backend, job: "FilterJob", host_out: Any = None) -> Buffers:
        """Return buffers for the picture and the result."""
        operands = job.operands
        return backend.allocate(operands.samples, host_out, operands.layout, job.problem.result_dtype)

    def upload(self, backend: Backend, operands: FilterOperands, buffers: Buffers) -> None:
        """Copy the picture to the device."""
        backend.upload(operands.samples, buffers)

    def verify(self, values: Any, job: "FilterJob", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare with the oracle."""
        # Loaded by the first proof: a preview needs none.
        from engine.work.filtering.agreement import verify

        return verify(
            values,
            job.operands.samples,
            job.operands.mask,
            job.problem,
            seed=job.seed,
            affordable=job.affordable,
            checkpoint=checkpoint,
            added=job.variant.added_to(job.problem, job.operands.mask, job.operands.samples),
        )

    def constant(self, operands: FilterOperands) -> Mask:
        """Return the mask."""
        return operands.mask

    def refuse_operands(self, variant: Variant, operands: FilterOperands) -> None:
        """Refuse a picture with NaN or infinity where a variant cannot keep them apart."""
        refuse_non_finite(variant, operands.samples)

    def reach(self, job: "FilterJob") -> Reach:
        """Return the cells under the mask."""
        return replace(job.problem.reach, exact=job.variant.band_invariant)

    def part(self, job: "FilterJob", samples: np.ndarray) -> "FilterJob":
        """Return the job for a part of its picture."""
        problem = job.problem.of_size(*samples.shape[:2])
        return replace(job, problem=problem, operands=replace(job.operands, samples=samples))

    def labels(self, job: "FilterJob") -> dict[str, Any]:
        """Return the mask's name and weights, and the layout where it can be chosen."""
        mask = job.operands.mask
        return {
            "mask_name": mask.title,
            "weights_digest": mask.weights_digest,
            "layout": str(job.operands.layout) if job.variant.device == "cuda" else "",
        }


FilterJob = Job[Problem, FilterOperands, Variant]
FILTERING = Filtering()


def filter_job(
    choice: Choice[Variant],
    problem: Problem,
    mask: Mask,
    samples: np.ndarray,
    *,
    layout: Layout = Layout.PITCHED,
    seed: int = 0,
) -> FilterJob:
    """Return the job of filtering `samples` (H x W x C, of the problem's dtype) with one mask."""
    operands = FilterOperands(samples, mask, layout)
    return Job(FILTERING, choice.variant, choice.block, problem, operands, choice.reason, seed)


def refuse_non_finite(variant: Variant, samples: np.ndarray) -> None:
    """Raise UnsupportedVariant for a picture with NaN or infinity that a variant would spread."""
    refusal = variant.refuse_samples(samples)
    if refusal is not None:
        raise UnsupportedVariant(f"variant '{variant.key}'", refusal)


def random_mask(rows: int, columns: int, seed: int) -> Mask:
    """Return random weights of which none are special: no zeros, no symmetry, not separable."""
    random = np.random.default_rng(seed).uniform(0.5, 1.5, (rows, columns))
    return Mask(random / (rows * columns), name=f"random {rows} × {columns}")
