"""Runs the siblings of a kernel as every run is: warm, timed by the device's events, in samples.

The whole kernel is verified first, as before every time. Siblings never are: they are wrong on purpose, and
nobody gets their results. All of them, and the kernel among them, run one after another on the same memory:
the picture, the values between two passes and the result, with rows of the program's own above and below. So
a sibling without border test reads what is there, and nothing outside.

Called on: the main thread of the engine's process, or of a script.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.cuda_kernels import PreparedPasses
from engine.device.devices import backend, devices
from engine.device.launches import DeviceKind, Operand, Pass
from engine.device_info import AUTO
from engine.errors import DeviceUnavailable
from engine.explain.ablation.results import NO_GPU, Ablation, Altered, Cost
from engine.explain.ablation.sibling_code import without
from engine.explain.bounds.gpu_bounds import executed, issue_slots
from engine.explain.counts.counting import counted_passes
from engine.explain.gpus import ABSENT_GPUS, DEFAULT
from engine.explain.launch.launches import why_not_compiled
from engine.explain.messages import AblationJob
from engine.geometry.block import Block
from engine.host.request import Run
from engine.results.launch_facts import WARP
from engine.results.progress import Checkpoint, Progress, go_on
from engine.run.measure import measure
from engine.run.sampling import NO_SAMPLES, SamplingPlan, sampled_kernel, timed
from engine.run.task import device_for
from engine.work.filter_task import MaskJob
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import variant
from engine.work.resolved_job import resolved_job

BUDGET_S = 0.3


def ablated(
    job: MaskJob, device: str, budget_s: float = BUDGET_S, checkpoint: Checkpoint = go_on
) -> Ablation:
    """Time a job's kernel and its siblings on a device, in the process that this is called in.

    In the simulator, which gives no times, instructions are counted. Raises EngineError
    where the kernel cannot run or is not right, `Cancelled` by the checkpoint.
    """
    machine = backend(device)
    info = machine.info
    if not info.times_mean_speed:
        return counted_ablation(job, checkpoint)
    found = _begun(job, info.key, info.title)
    if found.reason:
        return found
    verified = measure(job, machine, replace(NO_SAMPLES, is_recorded=False), checkpoint=checkpoint)
    if verified.error is not None:
        raise verified.error
    if not verified.result.is_proven:
        return replace(found, reason=f"The kernel gave no time: {verified.result.status}.")
    with machine.selected():
        runs = _Runs(job, machine, SamplingPlan(budget_s=budget_s), checkpoint)
        return _each(found, job, runs.timed)


def counted_ablation(job: MaskJob, checkpoint: Checkpoint = go_on) -> Ablation:
    """Count the instructions that a variant's kernels and their siblings execute, without a GPU."""
    found = _begun(job, "", "PTX of sm_90, interpreted", str(why_not_compiled() or ""))
    if found.reason:
        return found

    def per_tap(changed: tuple[Pass, ...], cost: Cost | None, fraction: float) -> Altered:
        checkpoint(Progress(f"counting {_which(cost)}", fraction, 2.0))
        # Without stores of results a branch depends on the results: of zeros, which it does not store.
        run = counted_passes(job, changed, checkpoint, of_zeros=True)
        slots = sum(executed(one, issue_slots) for one in run.passes)
        return Altered(cost, instructions=slots * WARP / job.problem.multiply_adds)

    return replace(_each(found, job, per_tap), reason=NO_GPU)


def _begun(job: MaskJob, device: str, machine: str, reason: str = "") -> Ablation:
    """Return an ablation in which nothing was run yet, with the reason where there are no siblings."""
    variant, passes = job.variant, job.passes
    found = Ablation(variant.key, variant.title, job.block, device, machine, reason=reason)
    if reason:
        return found
    if not variant.has_kernels:
        why = f"{variant.title} has no CUDA kernels of ours, so nothing can be taken out of them."
        return replace(found, reason=why)
    if without(passes, Cost.PICTURE_LOADS) is None or without(passes, Cost.STORES) is None:
        why = (
            f"The loads and stores of {variant.title} are emitted instruction by instruction, and do not "
            "stand in its source: nothing can be taken out of it. Select a teaching kernel."
        )
        return replace(found, reason=why)
    return found


def _each(
    found: Ablation,
    job: MaskJob,
    altered: Callable[[tuple[Pass, ...], Cost | None, float], Altered],
) -> Ablation:
    """Return an ablation with the whole kernel and every sibling, each as `altered` runs it."""
    whole, siblings = altered(job.passes, None, 0.0), []
    for number, cost in enumerate(Cost, start=1):
        changed = without(job.passes, cost)
        fraction = number / (1 + len(Cost))
        siblings.append(altered(changed, cost, fraction) if changed else Altered(cost, cost.absent))
    return replace(found, whole=whole, siblings=tuple(siblings))


def _which(cost: Cost | None) -> str:
    return f"without {cost.words}" if cost else "the whole kernel"


class _Runs:
    """The kernel and its siblings on the same memory."""

    def __init__(self, job: MaskJob, machine: Backend, plan: SamplingPlan, checkpoint: Checkpoint) -> None:
        self._job, self._machine, self._plan, self._checkpoint = job, machine, plan, checkpoint
        self._rows = rows_around(job.problem, job.block)
        self._buffers = self._allocated()
        self._expected_s = job.task.expected_launch_s(job, machine.info)

    def timed(self, passes: tuple[Pass, ...], cost: Cost | None, fraction: float) -> Altered:
        """Return the times of the kernel without a cost."""
        machine = self._machine

        def step(progress: Progress) -> None:
            stage = f"{_which(cost)}: {progress.stage}"
            self._checkpoint(progress._replace(stage=stage, fraction=fraction))

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

    def _memory(self, out_shape: tuple[int, ...]) -> dict[object, object]:
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
    job = resolved_job(asked).job_by(chosen, chosen.block_for(asked.block))
    try:
        # A kernel may be looked at while the CPU is chosen.
        device = device_for(chosen, AUTO if asked.device == DeviceKind.CPU else asked.device)
    except DeviceUnavailable:
        if any(one.is_usable_gpu for one in devices()):
            raise
        job.refuse_problem(ABSENT_GPUS[DEFAULT])
        return counted_ablation(job, report)
    job.refuse(device)
    return ablated(job, device.key, request.budget_s, report)
