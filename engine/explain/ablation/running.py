"""Runs the siblings of a kernel as every run is: warm, timed by the device's events, in samples.

The whole kernel is verified first, as before every time. Siblings never are: they are wrong on purpose, and
nobody gets their results. All of them, and the kernel among them, run one after another on the same memory:
the picture, the values between two passes and the result, with rows of the program's own above and below. So
a sibling without border test reads what is there, and nothing outside.

Called on: the main thread of the engine's process, or of a script.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.cuda_kernels import PreparedPasses
from engine.device.devices import backend, devices
from engine.device.launches import DeviceKind, Operand, Pass
from engine.device_info import AUTO
from engine.errors import DeviceUnavailable
from engine.explain.ablation.results import NO_GPU, Ablation, Altered, Cost
from engine.explain.ablation.siblings import without
from engine.explain.bounds.gpu_bounds import executed, issue_slots
from engine.explain.counts.accesses import WARP
from engine.explain.counts.counting import counted_passes, picture_buffers
from engine.explain.gpus import ABSENT_GPUS, DEFAULT
from engine.explain.launch.launches import why_not_compiled
from engine.explain.messages import AblationJob
from engine.explain.subject import Subject
from engine.geometry.block import Block
from engine.host.request import Run
from engine.mask.mask import Mask
from engine.results.progress import Checkpoint, Progress
from engine.run.device_choice import device_for
from engine.run.measure import measure
from engine.run.sampling import NO_SAMPLES, SamplingPlan, sampled_kernel, timed
from engine.work.filter_task import MaskJob
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import VARIANTS, Variant, variant
from engine.work.resolved_job import resolved_job

BUDGET_S = 0.3


def ablated(
    job: MaskJob, device: str, budget_s: float = BUDGET_S, checkpoint: Checkpoint = lambda step: None
) -> Ablation:
    """Time a job's kernel and its siblings on a device, in the process that this is called in.

    In the simulator, which gives no times, instructions are counted. Raises EngineError
    where the kernel cannot run or is not right, `Cancelled` by the checkpoint.
    """
    machine = backend(device)
    info = machine.info
    if not info.times_mean_speed:
        return counted_ablation(job.variant, job.problem, job.operands.constant, job.block, checkpoint)
    found = _described(job.variant, job.block, info.key, info.title)
    refusal = _refusal(job.variant, job.problem, job.operands.constant, job.block)
    if refusal:
        return replace(found, reason=refusal)
    verified = measure(job, machine, replace(NO_SAMPLES, is_recorded=False), checkpoint=checkpoint)
    if verified.error is not None:
        raise verified.error
    if not verified.result.is_proven:
        return replace(found, reason=f"The kernel gave no time: {verified.result.status}.")
    plan = SamplingPlan(budget_s=budget_s)
    with machine.selected():
        return _Runs(job, machine, plan, checkpoint).all_of(found)


def counted_ablation(
    variant: Variant,
    problem: Problem,
    mask: Mask,
    block: Block,
    checkpoint: Checkpoint = lambda step: None,
) -> Ablation:
    """Count the instructions that a variant's kernels and their siblings execute, without a GPU."""
    found = _described(variant, block, "", "PTX of sm_90, interpreted")
    reason = str(why_not_compiled() or "") or _refusal(variant, problem, mask, block)
    if reason:
        return replace(found, reason=reason)
    passes, buffers = variant.passes(problem, mask, block), picture_buffers(problem)

    def per_tap(changed: tuple[Pass, ...]) -> float:
        # Without stores of results a branch depends on the results: of zeros, which it does not store.
        run = counted_passes(changed, problem, buffers, checkpoint, of_zeros=True)
        return sum(executed(one, issue_slots) for one in run.passes) * WARP / problem.multiply_adds

    whole, siblings = Altered(instructions=per_tap(passes)), []
    for number, cost in enumerate(Cost):
        checkpoint(Progress(f"counting without {cost.words}", number / len(Cost), 2.0))
        changed = without(passes, cost)
        one = Altered(cost, instructions=per_tap(changed)) if changed else Altered(cost, cost.absent)
        siblings.append(one)
    return replace(found, whole=whole, siblings=tuple(siblings), reason=NO_GPU)


def _described(variant: Variant, block: Block, device: str, machine: str) -> Ablation:
    return Ablation(variant.key, variant.title, block, device, machine)


def _refusal(variant: Variant, problem: Problem, mask: Mask, block: Block) -> str:
    """Return why a variant has no siblings; empty where it has some."""
    if not variant.has_kernels:
        return f"{variant.title} has no CUDA kernels of ours, so nothing can be taken out of them."
    passes = variant.passes(problem, mask, block)
    if without(passes, Cost.PICTURE_LOADS) is None or without(passes, Cost.STORES) is None:
        return (
            f"The loads and stores of {variant.title} are emitted instruction by instruction, and do not "
            "stand in its source: nothing can be taken out of it. The teaching kernels have siblings."
        )
    return ""


class _Runs:
    """The kernel and its siblings on the same memory."""

    def __init__(self, job: MaskJob, machine: Backend, plan: SamplingPlan, checkpoint: Checkpoint) -> None:
        self._job, self._machine, self._plan, self._checkpoint = job, machine, plan, checkpoint
        self._rows = rows_around(job.problem, job.block)
        self._buffers = self._allocated()
        self._expected_s = job.task.expected_launch_s(job, machine.info)

    def all_of(self, found: Ablation) -> Ablation:
        """Return an ablation with the whole kernel and every sibling."""
        job = self._job
        passes = job.variant.passes(job.problem, job.operands.constant, job.block)
        whole = self._run(passes, None, 0.3)
        siblings = []
        for number, cost in enumerate(Cost):
            changed = without(passes, cost)
            fraction = 0.4 + 0.6 * number / len(Cost)
            siblings.append(self._run(changed, cost, fraction) if changed else Altered(cost, cost.absent))
        return replace(found, whole=whole, siblings=tuple(siblings))

    def _run(self, passes: tuple[Pass, ...], cost: Cost | None, fraction: float) -> Altered:
        what = f"without {cost.words}" if cost else "whole"
        machine = self._machine

        def step(progress: Progress) -> None:
            self._checkpoint(progress._replace(stage=f"{what}: {progress.stage}", fraction=fraction))

        step(Progress("compiling", fraction, 2.0 + self._expected_s))
        prepared = _PassesWithin(passes, self._rows)
        _, launch_ms = timed(lambda: machine.run(prepared, self._buffers))
        kernel, _ = sampled_kernel(machine, prepared, self._buffers, self._plan, step, launch_ms / 1e3)
        return Altered(cost, kernel=kernel)

    def _allocated(self) -> Buffers:
        """Return the picture and a result with rows of the program's own above and below each."""
        job, rows = self._job, self._rows
        samples = job.operands.samples
        height, *rest = samples.shape
        like = np.broadcast_to(np.zeros((), samples.dtype), (height + 2 * rows, *rest))
        no_result = np.empty(0, job.problem.result_dtype)
        made = self._machine.allocate(like, None, job.operands.layout, job.problem.result_dtype)
        inner = slice(rows, rows + height)
        # A part of an array does not hold its memory.
        self._around = made
        buffers = Buffers(made.image[inner], made.out[inner], no_result)
        job.task.upload(self._machine, job.operands, buffers)
        return buffers


class _PassesWithin(PreparedPasses):
    """Passes whose values between them have rows of the program's own above and below."""

    def __init__(self, passes: tuple[Pass, ...], rows: int) -> None:
        super().__init__(passes)
        self._rows = rows

    def _memory(self, out_shape: tuple[int, ...]) -> dict[Any, Any]:
        height, *rest = out_shape
        found = super()._memory((height + 2 * self._rows, *rest))
        if Operand.SCRATCH in found:
            # A part of an array does not hold its memory.
            found["around"] = around = found[Operand.SCRATCH]
            found[Operand.SCRATCH] = around[self._rows : self._rows + height]
        return found


def rows_around(problem: Problem, block: Block) -> int:
    """Return how many rows above and below a picture a kernel without border test may read.

    The threads of the last blocks reach past the picture by a block at most, a thread loads cells a block
    away from its own, and the mask reaches past that. Cells left and right lie in other rows.
    """
    side = 2 * max(block.x, block.y)
    rows, columns = problem.mask_shape
    return side + rows + (side + columns) // problem.width + 1


def run(request: Run[AblationJob], report: Checkpoint) -> Ablation:
    """Time the job's kernel and its siblings; count their instructions where no GPU is."""
    asked = request.job
    chosen = variant(asked.variant, takes_auto=False)
    resolved = resolved_job(asked)
    problem, mask = resolved.problem, resolved.constant
    block = chosen.block_for(asked.block)
    try:
        # A kernel may be looked at while the CPU is chosen.
        device = device_for(chosen, AUTO if asked.device == DeviceKind.CPU else asked.device)
    except DeviceUnavailable:
        if any(one.is_usable_gpu for one in devices()):
            raise
        Subject(chosen, problem, mask, block, ABSENT_GPUS[DEFAULT]).refuse(VARIANTS)
        return counted_ablation(chosen, problem, mask, block, report)
    job = resolved.job_by(chosen, block)
    job.refuse(device)
    return ablated(job, device.key, request.budget_s, report)
