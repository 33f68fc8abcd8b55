"""Answers previews, runs and questions about chains. Called on: the main thread of the host process.

Questions about the ready ones are answered on the thread that reads the pipe.
"""

import time
from dataclasses import replace
from importlib import import_module
from typing import Any

from engine.device.devices import backend
from engine.host import shared
from engine.host.protocol import Filtered
from engine.host.result_memory import ResultMemory
from engine.host.shared_array import Computed
from engine.host.shared_picture import keeps_values
from engine.host.tiles import TiledScreen
from engine.host.verbs import Describe, Preview, Run
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.run.measure import measure
from engine.run.sampling import SamplingPlan
from engine.work.chain_files import ready_chains
from engine.work.filtering.clipping import clipped_values
from engine.work.kept_results import KeptResults
from engine.work.messages import Chained, ChainJob, ChainsRequest
from engine.work.resolve import ResolvedChain
from engine.work.step_times import steps_of, with_steps
from engine.work.steps import Chain

_kept = KeptResults()
shared.keep_until_trimmed(_kept.drop)


def describe(request: Describe[ChainsRequest], report: Checkpoint) -> tuple[Chain, ...]:
    """Return the ready chains."""
    return ready_chains()


def preview(request: Preview[ChainJob], report: Checkpoint) -> Chained:
    """Do the steps that changed, and those after them, and prepare the result for the screen."""
    begin, asked = time.perf_counter(), request.job
    report(Progress("computing the chain", 0.0, 5.0))
    resolved = None
    if not isinstance(asked.picture.screen, TiledScreen):
        resolved = ResolvedChain(asked, shared.attach(asked.picture.in_memory))
    if resolved is None or not _keeps_values(resolved):
        _kept.drop()
        # By name: what computes parts of pictures is loaded with the first large one.
        return Chained(*import_module(asked.tile_answers).preview(asked, report))
    with ResultMemory(asked.picture, keeps=True) as memory:
        out = memory.allocate(resolved.samples, "float32")
        if resolved.device.kind == "cpu":
            pixels = asked.picture.in_memory
            steps = _kept.computed(resolved, (pixels, shared.uses(pixels)), out, report)
        else:
            # What lies between stays on the device for one launch.
            compute(resolved.job(), backend(resolved.device.key), out)
            steps = steps_of(resolved.plan)
        return Chained(_shown(memory, asked, resolved, begin), steps)


def run(request: Run[ChainJob], report: Checkpoint) -> Chained:
    """Verify, warm up, sample; prepare the result for the screen."""
    begin, asked = time.perf_counter(), request.job
    if isinstance(asked.picture.screen, TiledScreen):
        of_part: Any = import_module(asked.tile_answers).run_part(asked, request.budget_s, report)
        return Chained(of_part, (), of_part.result)
    resolved = ResolvedChain(asked, shared.attach(asked.picture.in_memory))
    machine, job = backend(resolved.device.key), resolved.job()
    with ResultMemory(asked.picture, keeps=_keeps_values(resolved)) as memory:
        plan, out = SamplingPlan(budget_s=request.budget_s), memory.allocate(resolved.samples, "float32")
        outcome = measure(job, machine, plan, checkpoint=report, host_out=out)
        if outcome.values is not None:
            result = with_steps(outcome.result, job, report)
            shown = _shown(memory, asked, resolved, begin)
            return Chained(replace(shown, result=result), result.steps, result)
    nothing = Filtered(None, None, job.variant.key, machine.info.key, 0.0, outcome.result)
    return Chained(nothing, (), outcome.result)


def _keeps_values(resolved: ResolvedChain) -> bool:
    """Return whether the values of the result are kept: of a large picture that can be cut they are not."""
    asked: Any = resolved.asked
    return keeps_values(asked.picture) or bool(resolved.reach.whole)


def _shown(memory: ResultMemory, asked: ChainJob, resolved: ResolvedChain, begin: float) -> Filtered:
    device, range_mode = resolved.device.key, asked.chain.range
    # Before it is given back.
    clipped = clipped_values(memory.array, resolved.white, range_mode)
    values, screen = memory.shown(range_mode, Computed(resolved.settled))
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    return Filtered(
        values,
        screen,
        resolved.choice.variant.key,
        device,
        elapsed_ms,
        clipped=(clipped.below, clipped.above),
    )
