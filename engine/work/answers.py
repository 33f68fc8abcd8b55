"""Answers previews, runs and questions about work on pictures.

Called on: the main thread of the host process, one at a time; questions on the thread that reads the pipe.

Of chains on the CPU results of steps are kept from one preview to the next. The result of a step depends on
the picture, on the step and on the results that it reads. So while edits follow one another only the edited
step and its readers are computed anew. What they read is kept for the next edit; another result only up to
MOST_BYTES together, as those of a small picture are. Nothing is kept where the engine is idle.
"""

import dataclasses
import time
from collections.abc import Hashable
from importlib import import_module
from typing import Any

import numpy as np
from msgspec.structs import replace

from engine.device.devices import backend, device_named
from engine.host import shared
from engine.host.protocol import FilePixels, Filtered, TiledScreen
from engine.host.request import Availability, Check, ComputedResult, Preview, Run, VariantInfo
from engine.host.shared_picture import ResultMemory, keeps_values
from engine.image.convert import full_scale_of
from engine.image.open import open_image
from engine.results.measurement import StepTime
from engine.results.problem import Checkpoint, Progress
from engine.run.measure import SamplingPlan, measure
from engine.run.task import compute, device_for
from engine.run.variant import AnyVariant
from engine.work import messages
from engine.work.filtering.clipping import clipped_of
from engine.work.filtering.sum_order import SumOrder
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.measuring import steps_of, with_steps
from engine.work.merge import mergers
from engine.work.planned import CHAIN_VARIANTS, Plan
from engine.work.problem import as_samples
from engine.work.resolve import Resolved
from engine.work.steps import Chain, needed_places

MOST_BYTES = 16 << 20


def resolved_job(job: messages.PictureJob) -> Resolved:
    """Return what a job is; of a picture in its file that of a part, all zeros: a question reads nothing."""
    picture = job.picture
    patch = as_samples(open_image(job.patch_path).pixels) if job.patch_path else None
    if isinstance(picture.pixels, FilePixels):
        return Resolved(job, messages.blank(picture), patch=patch)
    return Resolved(job, shared.attach(picture.in_memory), patch=patch)


class KeptResults:
    """Results of the newest preview's steps, by what they depend on, and how long each of them took, ms."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, np.ndarray] = {}
        self._took: dict[Hashable, float] = {}

    def computed(
        self, resolved: Resolved, picture: Hashable, out: np.ndarray, report: Checkpoint
    ) -> tuple[StepTime, ...]:
        """Write the last result to `out`; return the steps with their times. `picture` names the samples."""
        plan = resolved.plan
        (variant,) = CHAIN_VARIANTS.on("cpu")
        resolved.job().refuse(resolved.device)
        chain: Any = variant.prepare(resolved.problem, plan, variant.default_block)
        keys = _keys(plan, picture)
        needed = needed_places(plan, len(plan) - 1, [at for at, key in enumerate(keys) if key in self._kept])
        known = {at: self._kept[keys[at]] for at in needed if keys[at] in self._kept}
        # What is not read makes room for what is computed.
        kept: dict[Hashable, np.ndarray] = {}
        self._kept = kept
        took = {key: self._took[key] for key in keys if key in self._took}
        changed = [at for at, key in enumerate(keys) if key not in took] or [len(plan) - 1]
        # Steps that did not change and are read by one that did, or by the last if none did.
        read_again = {one for at in changed for one in plan[at].inputs if one >= 0} - set(changed)

        def begins(at: int) -> None:
            report(Progress(f"step {plan[at].step.id}", at / len(plan), 2.0))

        def keep(at: int, result: np.ndarray) -> None:
            waiting = sum(one.nbytes for one in (*kept.values(), *known.values()))
            if result is not out and (at in read_again or waiting + result.nbytes <= MOST_BYTES):
                kept[keys[at]] = result

        chain.launch(resolved.samples, out, known=known, begins=begins, found=keep)
        ids = {planned.step.id: key for planned, key in zip(plan, keys, strict=True)}
        self._took = took | {ids[id_]: ms for id_, ms in chain.took_ms.items()}
        return steps_of(plan, {id_: self._took.get(key, 0.0) for id_, key in ids.items()})

    def drop(self) -> None:
        """Keep nothing."""
        self._kept = {}


def _keys(plan: Plan, picture: Hashable) -> list[Hashable]:
    """Return what the result of each step depends on."""
    keys: list[Hashable] = []
    for planned in plan:
        # How it is called and from where it reads by what name changes nothing.
        step = replace(planned.step, id="", input="")
        read = tuple(picture if one == -1 else keys[one] for one in planned.inputs)
        keys.append((step, planned.variant_key, planned.block, planned.problem, read))
    return keys


_kept = KeptResults()
shared.keep_until_trimmed(_kept.drop)


def describe(
    request: messages.ListRequest, report: Checkpoint
) -> tuple[VariantInfo | messages.OperationInfo | Chain, ...]:
    """Return the variants that filter, those of every operation, or the ready chains."""
    if request.of == "filters":
        return tuple(map(VariantInfo.of, VARIANTS))
    if request.of == "chains":
        return tuple(import_module("engine.work.chain_files").ready_chains())
    known = import_module("engine.work.operations.contract").OPERATIONS.values()
    return tuple(messages.OperationInfo(one.key, tuple(map(VariantInfo.of, one.variants))) for one in known)


def preview(request: Preview[messages.PictureJob], report: Checkpoint) -> Filtered:
    """Do the steps once, on the CPU those that changed; of a large picture nothing before it is seen."""
    job, begin = request.job, time.perf_counter()
    in_file = isinstance(job.picture.screen, TiledScreen)
    resolved = None if in_file else resolved_job(job)
    if resolved is None or not _keeps_values(resolved):
        _kept.drop()
        # By name: what computes parts of pictures is loaded with the first large one.
        shown: Filtered = import_module(job.tile_answers).preview(job, report)
        return shown
    machine = backend(resolved.device.key)
    with ResultMemory(job.picture, keeps=True) as memory:
        if resolved.plan and resolved.device.kind == "cpu":
            report(Progress("computing the chain", 0.0, 5.0))
            pixels, out = job.picture.in_memory, memory.allocate(resolved.samples, "float32")
            steps = _kept.computed(resolved, (pixels, shared.uses(pixels)), out, report)
            return _shown(resolved, memory, out, begin, steps)
        whole = resolved.job()
        report(Progress("computing", 0.0, 2.0 + whole.task.expected_launch_s(whole, machine.info)))
        # What lies between the steps of a chain stays on the device for one launch.
        values = compute(whole, machine, _allocated(memory, resolved))
        return _shown(resolved, memory, values, begin, steps_of(resolved.plan))


def run(request: Run[messages.PictureJob], report: Checkpoint) -> Filtered:
    """Verify, warm up, sample; prepare the result for the screen. Of a large picture a part is measured."""
    job, begin = request.job, time.perf_counter()
    if isinstance(job.picture.screen, TiledScreen):
        of_part: Filtered = import_module(job.tile_answers).run_part(job, request.budget_s, report)
        return of_part
    plan, resolved = SamplingPlan(budget_s=request.budget_s), resolved_job(job)
    machine, whole = backend(resolved.device.key), resolved.job()
    with ResultMemory(job.picture, keeps=_keeps_values(resolved)) as memory:
        out = _allocated(memory, resolved)
        values, result, _ = measure(whole, machine, plan, checkpoint=report, host_out=out)
        if values is not None:
            result = with_steps(result, whole, report)
            return replace(_shown(resolved, memory, values, begin, result.steps), result=result)
    return Filtered(None, None, whole.variant.key, machine.info.key, 0.0, result)


def _keeps_values(resolved: Resolved) -> bool:
    """Return whether the values of the result are kept: of a large picture that can be cut they are not."""
    job: Any = resolved.request
    if keeps_values(job.picture) or job.operation is not None:
        return True
    return bool(resolved.plan) and bool(resolved.reach.whole)


def _allocated(memory: ResultMemory, resolved: Resolved) -> np.ndarray | None:
    """Return the memory for a result that is a picture of the picture's shape; None for another one."""
    problem, samples, operation = resolved.problem, resolved.samples, resolved.request.operation
    if operation is not None and operation.known.result.name != "PICTURE":
        return None
    return memory.allocate(samples, problem.result_dtype)


def _shown(
    resolved: Resolved, memory: ResultMemory, values: np.ndarray, begin: float, steps: tuple[StepTime, ...]
) -> Filtered:
    """Return the reply, with the levels of the result for the screen, and the quantities beside it."""
    job: Any = resolved.request
    samples, answer = resolved.samples, resolved.answer(values)
    if answer.picture is not values:
        pixels = samples if answer.picture is None else answer.picture.reshape(samples.shape)
        if answer.mark is not None:
            # Few operations draw.
            drawing = import_module("engine.work.operations.patch")
            pixels = drawing.marked(pixels, answer.mark, full_scale_of(samples.dtype))
        memory.allocate(samples, pixels.dtype.name)[...] = pixels
    if job.region is not None:
        for outside in job.region.around:
            memory.array[outside] = samples[outside]
    clipped = clipped_of(resolved.job(), memory.array, job.range_mode)
    shown, screen = memory.shown(job.range_mode, ComputedResult(resolved.chosen))
    return Filtered(
        values=shown,
        screen=screen,
        variant=resolved.choice.variant.key,
        device=resolved.device.key,
        elapsed_ms=(time.perf_counter() - begin) * 1e3,
        chosen_because=resolved.choice.reason,
        clipped=(clipped.below, clipped.above),
        steps=steps,
        quantities=answer.quantities,
        counts=() if answer.counts is None else tuple(map(tuple, answer.counts.tolist())),
        mark=answer.mark,
    )


def check(request: Check[messages.PictureJob], report: Checkpoint) -> tuple[Availability, ...]:
    """Return for every variant of one step whether it can do the job on the job's device, and why not."""
    job, resolved = request.job, resolved_job(request.job)
    if resolved.step is None:
        return ()
    known: tuple[AnyVariant, ...] = resolved.step.variants
    if not request.blocks:
        return tuple(_availability(variant, job, resolved) for variant in known)
    plain, answers = job.changed(block=None), list[Availability]()
    asks = [plain.changed(variant=key) for key in request.variants or [variant.key for variant in known]]
    for one in dict.fromkeys(ask.named or Resolved(ask, resolved.samples).choice.variant for ask in asks):
        # What no block helps with is established once: looking for NaN takes 17 ms.
        own = _availability(one, plain, resolved)
        if not one.uses_block or (own.reason and own.nearest_block is None):
            answers.append(own)
            continue
        limits = device_for(one, job.device).limits
        for block in request.blocks:
            refusal = one.why_not(resolved.problem, resolved.constant, block, limits, known)
            answers.append(Availability(one.key, refusal, block))
    return tuple(answers)


def _availability(variant: AnyVariant, job: messages.PictureJob, resolved: Resolved) -> Availability:
    # Looking for NaN takes 17 ms for 4096 x 4096 float32, for the few variants that need it.
    made = resolved.job_by(variant, variant.block_for(job.block))
    return Availability.of(variant.key, lambda: made.refuse(device_for(variant, job.device)))


def sum_order(request: messages.SumOrderRequest, report: Checkpoint) -> SumOrder:
    """Return the order of the sums of a job, whose variant can do it."""
    resolved, chosen = resolved_job(request.job), variant(request.job.variant, takes_auto=False)
    problem, mask = resolved.problem, resolved.constant
    if request.reads_floats:
        problem = problem.of_type("float32")
    order = chosen.sum_order(problem, mask)
    if order.is_known:
        return order
    return dataclasses.replace(order, added_error=chosen.added_to(problem, mask, resolved.samples))


def merger_offers(request: messages.MergeRequest, report: Checkpoint) -> tuple[messages.Merger, ...]:
    """Return what could become one mask, the most steps together first."""
    job, picture = request.job, request.job.picture
    shape = picture.height, picture.width, picture.channels
    return mergers(job.chain, shape, picture.dtype, device_named(job.device))
