"""What the host does for previews, runs and questions about variants, of filters and of products of matrices.

Called on: the main thread of the host process, one at a time; questions on the thread that reads the pipe.
"""

import time
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from engine.device.anti_aliasing import ANTI_ALIAS_BYTES
from engine.device.backend import Backend
from engine.device.devices import backend, devices
from engine.device_info import AUTO
from engine.host import shared
from engine.host.display_levels import full_scale
from engine.host.messages import Ready
from engine.host.picture_jobs import SharedSegment, screen_arrays
from engine.host.protocol import (
    Availability,
    BlockAvailability,
    CheckBlocks,
    CheckVariants,
    CountMatmul,
    Filtered,
    FilterJob,
    Preview,
    Run,
    RunMatmul,
)
from engine.host.shared_array import SharedArray
from engine.host.variant_facts import availability_of, info_of
from engine.results.measurement import ProductResult
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.run.device_choice import device_for, refuse_unsuitable
from engine.run.measure import measure
from engine.run.resolve import ResolvedFilter, describe_problem, result_dtype_for
from engine.run.sampling import SamplingPlan
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.task import refuse_strange_samples
from engine.variants.contract import Variant
from engine.variants.registry import MATMUL_VARIANTS, VARIANTS, matmul_variant
from engine.variants.registry import variant as filter_variant

# Random numbers for two matrices of 8192 x 8192, the window's largest, take 1 s.
EXPECTED_MATRICES_S = 2.0


def ready() -> Ready:
    """Return what this host can do."""
    return Ready(tuple(map(info_of, VARIANTS)), devices())


def preview(request: Preview, report: Checkpoint) -> Filtered:
    """Filter once and prepare the result for the screen."""
    resolved = _ResolvedJob(request.job)
    job, device = resolved.job, resolved.backend.info
    refuse_unsuitable(job.variant, job.problem, request.job.mask, job.block, device)
    expected_s = job.task.expected_launch_s(job, device)
    report(Progress("filtering", 0.0, 2.0 + expected_s))
    with resolved:
        compute(job, resolved.backend, resolved.allocate())
        return resolved.filtered()


def run(request: Run, report: Checkpoint) -> Filtered:
    """Verify, warm up, sample; prepare the result for the screen."""
    with _ResolvedJob(request.job) as resolved:
        plan, values = SamplingPlan(budget_s=request.budget_s), resolved.allocate()
        outcome = measure(resolved.job, resolved.backend, plan, checkpoint=report, host_out=values)
        if outcome.values is not None:
            return replace(resolved.filtered(), result=outcome.result)
    return Filtered(None, None, resolved.job.variant.key, resolved.backend.info.key, 0.0, outcome.result)


def check_variants(request: CheckVariants, report: Checkpoint) -> tuple[Availability, ...]:
    """Return for every variant whether it can do the job on the job's device, and why not."""
    samples, problem = _problem(request.job)
    return tuple(_availability(variant, request.job, problem, samples) for variant in VARIANTS)


def check_blocks(request: CheckBlocks, report: Checkpoint) -> tuple[BlockAvailability, ...]:
    """Return for each variant with each block whether it can do the job, and why not."""
    samples, problem = _problem(request.job)
    keys = request.variants or tuple(variant.key for variant in VARIANTS)
    found: list[BlockAvailability] = []
    for variant in dict.fromkeys(_named(key, request.job, samples) for key in keys):
        # What no block helps with is found out once: looking for NaN takes 17 ms.
        own = _availability(variant, replace(request.job, block=None), problem, samples)
        if not variant.uses_block or (own.reason and own.nearest_block is None):
            found.append(BlockAvailability(variant.key, None, own.reason))
            continue
        limits = device_for(variant, request.job.device).limits
        for block in request.blocks:
            refusal = variant.why_not(problem, request.job.mask, block, limits, VARIANTS)
            found.append(BlockAvailability(variant.key, block, refusal))
    return tuple(found)


def _named(key: str, job: FilterJob, samples: NDArray[Any]) -> Variant:
    if key != AUTO:
        return filter_variant(key)
    return ResolvedFilter(replace(job, variant=AUTO, block=None), samples).choice.variant


def _problem(job: FilterJob) -> tuple[NDArray[Any], Problem]:
    samples = shared.attach(job.picture.pixels)
    result_dtype = result_dtype_for(job.result_type, samples, samples)
    return samples, describe_problem(samples, job.mask, job.border, job.cval, result_dtype)


def _availability(variant: Variant, job: FilterJob, problem: Problem, samples: NDArray[Any]) -> Availability:
    block = job.block if job.block is not None and variant.uses_block else variant.default_block

    def refuse() -> None:
        refuse_unsuitable(variant, problem, job.mask, block, device_for(variant, job.device))
        # 17 ms for 4096 x 4096 float32, for the few variants that need it; nothing for whole numbers.
        refuse_strange_samples(variant, samples)

    return availability_of(variant.key, refuse)


class _ResolvedJob(SharedSegment):
    """A filter job with samples, problem, device, variant and block, and the segment for its result.

    An `EngineError` where there is no such device, variant or border.
    """

    def __init__(self, asked: FilterJob) -> None:
        super().__init__()
        self._begin = time.perf_counter()
        self._asked = asked
        resolved = ResolvedFilter(asked, shared.attach(asked.picture.pixels))
        self.job = resolved.job()
        self.backend: Backend = backend(resolved.device.key)

    def allocate(self) -> NDArray[Any]:
        """Return shared memory for the result, which is written there without a copy."""
        shape = self.job.operands.samples.shape
        # Segments begin with a page, the picture's too (`engine.device.anti_aliasing`).
        _, self._values, *levels = self.create(
            ((ANTI_ALIAS_BYTES,), "uint8"), (shape, self.job.problem.result_dtype), *screen_arrays(*shape[:2])
        )
        self._levels: tuple[SharedArray, ...] = tuple(levels)
        return shared.attach(self._values)

    def filtered(self) -> Filtered:
        """Return the reply, with the result's levels for the screen."""
        white = full_scale(self.job.operands.samples.dtype)
        picture, range_mode = self._asked.picture, self._asked.range_mode
        screen = self.rendered(self._values, self._levels, white, range_mode, picture.alpha)
        return Filtered(
            values=self._values,
            screen=screen,
            variant=self.job.variant.key,
            device=self.backend.info.key,
            elapsed_ms=(time.perf_counter() - self._begin) * 1e3,
            chosen_because=self.job.chosen_because,
        )


def count_matmul(request: CountMatmul, report: Checkpoint) -> tuple[ProductResult, ...]:
    """Return what can be counted for every variant and tile, and why those that cannot run cannot."""
    # Imported with the first request, so that the host is up earlier.
    from engine.run.sweep import counted, product_jobs

    jobs = product_jobs([request.product], MATMUL_VARIANTS, request.tiles, unmade=True)
    return tuple(counted(job, request.device) for job in jobs)


def run_matmul(request: RunMatmul, report: Checkpoint) -> ProductResult:
    """Multiply with one variant, verified and timed; a stopped request ends between launches and samples."""
    from engine.run.product_job import product_job
    from engine.tasks.product.operands import random_matrices, refuse_too_large

    variant = matmul_variant(request.variant)
    device = device_for(variant, request.device)
    refuse_too_large(request.product)
    report(Progress("making the matrices", 0.0, EXPECTED_MATRICES_S))
    a, b = random_matrices(request.product, request.seed)
    tile = variant.default_block.x if request.tile is None else request.tile
    job = product_job(variant, tile, a, b, seed=request.seed)
    plan = SamplingPlan(budget_s=request.budget_s)
    return measure(job, backend(device.key), plan, checkpoint=report).result
