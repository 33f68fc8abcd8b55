"""Answers previews, runs and questions about operations. Called on: the main thread of the host process.

Questions about variants are answered on the thread that reads the pipe.
"""

import time
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from engine.device.devices import backend
from engine.host import shared
from engine.host.display_levels import full_scale
from engine.host.messages import VariantInfo
from engine.host.protocol import Availability, Filtered
from engine.host.shared_picture import SharedSegment, screen_arrays
from engine.host.tiles import TiledScreen
from engine.host.variant_facts import availability_of, info_of
from engine.host.verbs import Check, Describe, Preview, Run
from engine.image.open import open_image
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.run.device_choice import device_for
from engine.run.measure import measure
from engine.run.sampling import SamplingPlan
from engine.work.filtering.measured_part import blank
from engine.work.operations.drawing import marked
from engine.work.operations.messages import Operated, OperationInfo, OperationJob, OperationsRequest
from engine.work.operations.resolve import ResolvedOperation
from engine.work.operations.task import OPERATION
from engine.work.operations.variants import OPERATION_VARIANTS, OperationVariant, operation_variants
from engine.work.pictures import as_samples


def describe(request: Describe[OperationsRequest], report: Checkpoint) -> tuple[OperationInfo, ...]:
    """Return the variants of every operation."""
    found: dict[str, list[VariantInfo]] = {}
    for v in OPERATION_VARIANTS:
        found.setdefault(v.operation, []).append(info_of(v))
    return tuple(OperationInfo(key, tuple(variants)) for key, variants in found.items())


def preview(request: Preview[OperationJob], report: Checkpoint) -> Operated:
    """Do an operation once and prepare what it found for the screen."""
    begin, asked = time.perf_counter(), request.job
    if isinstance(asked.picture.screen, TiledScreen):
        # By name: what computes parts of pictures is loaded with the first large one.
        return Operated(import_module(asked.tile_answers).preview(asked, report)[0])
    resolved = resolved_job(asked)
    job, machine = resolved.job(), backend(resolved.device.key)
    report(Progress("computing", 0.0, 2.0 + job.task.expected_launch_s(job, machine.info)))
    values = compute(job, machine)
    return _shown(request.job, resolved, values, begin)


def run(request: Run[OperationJob], report: Checkpoint) -> Operated:
    """Verify, warm up, sample; prepare what was found for the screen."""
    begin, asked = time.perf_counter(), request.job
    if isinstance(asked.picture.screen, TiledScreen):
        of_part: Any = import_module(asked.tile_answers).run_part(asked, request.budget_s, report)
        return Operated(of_part, result=of_part.result)
    resolved = resolved_job(asked)
    machine = backend(resolved.device.key)
    plan = SamplingPlan(budget_s=request.budget_s)
    outcome = measure(resolved.job(), machine, plan, checkpoint=report)
    if outcome.values is None:
        nothing = Filtered(None, None, resolved.choice.variant.key, machine.info.key, 0.0)
        return Operated(nothing, result=outcome.result)
    return replace(_shown(request.job, resolved, outcome.values, begin), result=outcome.result)


def check(request: Check[OperationJob], report: Checkpoint) -> tuple[Availability, ...]:
    """Return for every variant of the operation whether it can do the job, and why not."""
    resolved = resolved_job(replace(request.job, variant="auto", device="cpu", block=None))

    def refuse(known: OperationVariant) -> None:
        block = known.block_for(request.job.block)
        device = device_for(known, request.job.device)
        OPERATION.refuse(known, resolved.problem, resolved.operands.patch, block, device)

    known_ones = operation_variants(request.job.operation)
    return tuple(availability_of(known.key, partial(refuse, known)) for known in known_ones)


def resolved_job(job: OperationJob) -> ResolvedOperation:
    """Return a job of the window with its operation, problem, device, variant and block."""
    patch = as_samples(open_image(job.patch_path).pixels) if job.patch_path else None
    in_file = isinstance(job.picture.screen, TiledScreen)
    samples = blank(job.picture) if in_file else shared.attach(job.picture.in_memory)
    return ResolvedOperation(job, samples, patch)


def _shown(job: OperationJob, resolved: ResolvedOperation, values: np.ndarray, begin: float) -> Operated:
    """Return what was found, with the picture in shared memory and its levels for the screen."""
    samples, picture = resolved.samples, job.picture
    answer = resolved.answer(values)
    white = full_scale(samples.dtype)
    pixels = samples if answer.picture is None else answer.picture
    if answer.mark is not None:
        pixels = marked(pixels, answer.mark, white)
    with SharedSegment() as segment:
        target, *levels = segment.create(
            (samples.shape, samples.dtype.name), *screen_arrays(*samples.shape[:2])
        )
        shared.attach(target)[...] = pixels.reshape(samples.shape)
        screen = segment.rendered(target, tuple(levels), white, alpha=picture.alpha)
        elapsed_ms = (time.perf_counter() - begin) * 1e3
        choice = resolved.choice
        shown = Filtered(
            target,
            screen,
            choice.variant.key,
            resolved.device.key,
            elapsed_ms,
            chosen_because=choice.reason,
        )
        counts = () if answer.counts is None else tuple(map(tuple, answer.counts.tolist()))
        return Operated(shown, answer.quantities, counts, answer.mark)
