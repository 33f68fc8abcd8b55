"""Answers previews, runs and questions about chains. Called on: the main thread of the host process.

Questions about the ready ones are answered on the thread that reads the pipe.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from engine.device.anti_aliasing import ANTI_ALIAS_BYTES
from engine.device.devices import backend
from engine.host import shared
from engine.host.display_levels import full_scale
from engine.host.picture_jobs import SharedSegment, screen_arrays
from engine.host.protocol import Filtered
from engine.host.verbs import Describe, Preview, Run
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.run.measure import measure
from engine.run.sampling import SamplingPlan
from engine.tasks.chain.files import ready_chains
from engine.tasks.chain.kept_results import KeptResults
from engine.tasks.chain.messages import Chained, ChainJob, ChainsRequest
from engine.tasks.chain.resolve import ResolvedChain
from engine.tasks.chain.step_times import with_steps
from engine.tasks.chain.steps import Chain
from engine.tasks.filtering.clipping import Clipped, clipped_values

_kept = KeptResults()


def describe(request: Describe[ChainsRequest], report: Checkpoint) -> tuple[Chain, ...]:
    """Return the ready chains."""
    return ready_chains()


def preview(request: Preview[ChainJob], report: Checkpoint) -> Chained:
    """Do the steps that changed, and those after them, and prepare the result for the screen."""
    begin, asked = time.perf_counter(), request.job
    resolved = ResolvedChain(asked, shared.attach(asked.picture.in_memory))
    report(Progress("computing the chain", 0.0, 5.0))
    with SharedSegment() as segment:
        values, levels = _created(segment, resolved.samples.shape)
        out = shared.attach(values)
        if resolved.device.kind == "cpu":
            pixels = asked.picture.in_memory
            steps = _kept.computed(resolved, (pixels, shared.uses(pixels)), out, report)
        else:
            # What lies between stays on the device for one launch.
            compute(resolved.job(), backend(resolved.device.key), out)
            steps = ()
        return Chained(_shown(segment, asked, resolved, values, levels, begin), steps)


def run(request: Run[ChainJob], report: Checkpoint) -> Chained:
    """Verify, warm up, sample; prepare the result for the screen."""
    begin, asked = time.perf_counter(), request.job
    resolved = ResolvedChain(asked, shared.attach(asked.picture.in_memory))
    machine, job = backend(resolved.device.key), resolved.job()
    with SharedSegment() as segment:
        values, levels = _created(segment, resolved.samples.shape)
        plan = SamplingPlan(budget_s=request.budget_s)
        outcome = measure(job, machine, plan, checkpoint=report, host_out=shared.attach(values))
        if outcome.values is not None:
            result = with_steps(outcome.result, job, report)
            shown = _shown(segment, asked, resolved, values, levels, begin)
            return Chained(replace(shown, result=result), result.steps, result)
    nothing = Filtered(None, None, job.variant.key, machine.info.key, 0.0, outcome.result)
    return Chained(nothing, (), outcome.result)


def _created(segment: SharedSegment, shape: tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return shared memory for the result and its levels for the screen."""
    # Segments begin with a page, the picture's too (`engine.device.anti_aliasing`).
    _, values, *levels = segment.create(
        ((ANTI_ALIAS_BYTES,), "uint8"), (shape, "float32"), *screen_arrays(*shape[:2])
    )
    return values, tuple(levels)


def _shown(
    segment: SharedSegment,
    asked: ChainJob,
    resolved: ResolvedChain,
    values: Any,
    levels: tuple[Any, ...],
    begin: float,
) -> Filtered:
    white = full_scale(np.dtype(resolved.samples.dtype))
    screen = segment.rendered(values, levels, white, asked.chain.range, asked.picture.alpha)
    clipped = clipped_values(shared.attach(values), white) if asked.chain.range == "clip" else Clipped()
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    return Filtered(
        values,
        screen,
        resolved.choice.variant.key,
        resolved.device.key,
        elapsed_ms,
        clipped=(clipped.below, clipped.above),
    )
