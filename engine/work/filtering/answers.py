"""Answers previews, runs and questions about variants.

Called on: the main thread of the host process, one at a time; questions on the thread that reads the pipe.
"""

import time
from dataclasses import replace
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from engine.device.backend import Backend
from engine.device.devices import backend
from engine.device_info import AUTO
from engine.host import shared
from engine.host.messages import VariantInfo
from engine.host.protocol import Availability, BlockAvailability, Filtered
from engine.host.result_memory import ResultMemory
from engine.host.shared_array import Computed
from engine.host.shared_picture import keeps_values
from engine.host.tiles import TiledScreen
from engine.host.variant_facts import availability_of, info_of
from engine.host.verbs import Check, Describe, Preview, Run
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.run.device_choice import device_for
from engine.run.measure import measure
from engine.run.sampling import SamplingPlan
from engine.run.task import Choice
from engine.work.filtering.asked_problem import asked_problem
from engine.work.filtering.clipping import clipped_part
from engine.work.filtering.messages import FilterJob, FiltersRequest
from engine.work.filtering.problem import Problem
from engine.work.filtering.resolve import ResolvedFilter
from engine.work.filtering.task import filter_job
from engine.work.filtering.variants import VARIANTS, Variant
from engine.work.filtering.variants import variant as filter_variant


def describe(request: Describe[FiltersRequest], report: Checkpoint) -> tuple[VariantInfo, ...]:
    """Return every variant."""
    return tuple(map(info_of, VARIANTS))


def preview(request: Preview[FilterJob], report: Checkpoint) -> Filtered:
    """Filter once and prepare the result for the screen; of a large picture nothing before it is seen."""
    picture = request.job.picture
    if isinstance(picture.screen, TiledScreen) or not keeps_values(picture):
        # By name: what filters parts of pictures is loaded with the first large one.
        shown: Filtered = import_module(request.job.tile_answers).preview(request.job, report)[0]
        return shown
    resolved = _ResolvedJob(request.job)
    job, device = resolved.job, resolved.backend.info
    job.task.refuse(job.variant, job.problem, request.job.mask, job.block, device)
    expected_s = job.task.expected_launch_s(job, device)
    report(Progress("filtering", 0.0, 2.0 + expected_s))
    with resolved.memory() as memory:
        compute(job, resolved.backend, resolved.allocated(memory))
        return resolved.filtered(memory)


def run(request: Run[FilterJob], report: Checkpoint) -> Filtered:
    """Verify, warm up, sample; prepare the result for the screen. Of a large picture a part is measured."""
    if isinstance(request.job.picture.screen, TiledScreen):
        of_part: Filtered = import_module(request.job.tile_answers).run_part(
            request.job, request.budget_s, report
        )
        return of_part
    resolved, plan = _ResolvedJob(request.job), SamplingPlan(budget_s=request.budget_s)
    with resolved.memory() as memory:
        values = resolved.allocated(memory)
        outcome = measure(resolved.job, resolved.backend, plan, checkpoint=report, host_out=values)
        if outcome.values is not None:
            return replace(resolved.filtered(memory), result=outcome.result)
    return Filtered(None, None, resolved.job.variant.key, resolved.backend.info.key, 0.0, outcome.result)


def check(
    request: Check[FilterJob], report: Checkpoint
) -> tuple[Availability, ...] | tuple[BlockAvailability, ...]:
    """Return for every variant whether it can do the job on the job's device, and why not."""
    if request.blocks:
        return _check_blocks(request)
    samples, problem = asked_problem(request.job)
    return tuple(_availability(variant, request.job, problem, samples) for variant in VARIANTS)


def _check_blocks(request: Check[FilterJob]) -> tuple[BlockAvailability, ...]:
    """Return for each variant with each block whether it can do the job, and why not."""
    samples, problem = asked_problem(request.job)
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


def _availability(variant: Variant, job: FilterJob, problem: Problem, samples: NDArray[Any]) -> Availability:
    # Looking for NaN takes 17 ms for 4096 x 4096 float32, for the few variants that need it.
    made = filter_job(Choice(variant, variant.block_for(job.block)), problem, job.mask, samples)
    return availability_of(variant.key, lambda: made.refuse(device_for(variant, job.device)))


class _ResolvedJob:
    """A filter job with samples, problem, device, variant and block.

    An `EngineError` where there is no such device, variant or border.
    """

    def __init__(self, asked: FilterJob) -> None:
        self._begin = time.perf_counter()
        self._asked = asked
        resolved = ResolvedFilter(asked, shared.attach(asked.picture.in_memory))
        self.job = resolved.job()
        self.backend: Backend = backend(resolved.device.key)

    def memory(self) -> ResultMemory:
        """Return what holds the result."""
        return ResultMemory(self._asked.picture, keeps=keeps_values(self._asked.picture))

    def allocated(self, memory: ResultMemory) -> NDArray[Any]:
        """Return the array for the result."""
        return memory.allocate(self.job.operands.samples, self.job.problem.result_dtype)

    def filtered(self, memory: ResultMemory) -> Filtered:
        """Return the reply, with the result's levels for the screen."""
        samples, asked = self.job.operands.samples, self._asked
        if asked.region is not None:
            for outside in asked.region.around:
                memory.array[outside] = samples[outside]
        key, device = self.job.variant.key, self.backend.info.key
        computed = Computed(replace(asked, variant=key, block=self.job.block, device=device))
        values, screen = memory.shown(asked.range_mode, computed)
        return Filtered(
            values=values,
            screen=screen,
            variant=key,
            device=device,
            elapsed_ms=(time.perf_counter() - self._begin) * 1e3,
            chosen_because=self.job.chosen_because,
            clipped=clipped_part(samples, asked.mask, self.job.problem, asked.range_mode),
        )
