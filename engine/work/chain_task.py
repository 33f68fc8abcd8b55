"""The tasks of other operations and of chains, for the pipeline."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue, EngineError, Reason, UnknownName
from engine.files.reading import Json
from engine.geometry.block import Block
from engine.geometry.border import Reach
from engine.results.problem import Answer
from engine.run.task import Choice, Job
from engine.run.variant import AnyVariant
from engine.work.filter_task import (
    FILTERING,
    Among,
    AnyStepTask,
    PictureTask,
    StepTask,
    describe_problem,
    planned_mask,
    refuse_non_finite,
)
from engine.work.filtering.variants import variant
from engine.work.operations.contract import OperationVariant
from engine.work.operations.patch import Patch, patch_from, ready_patch
from engine.work.operations.table import (
    OPERATION_VARIANTS,
    OPERATIONS,
    operation_variant,
    operation_variants,
)
from engine.work.pictures import Operands
from engine.work.planned import (
    CHAIN_VARIANTS,
    ChainVariant,
    Plan,
    PlannedStep,
    combined,
    most_between,
    reach_of,
)
from engine.work.problem import ChainProblem, OperationProblem, Settings
from engine.work.steps import AnyStep, Chain, CombineStep, MaskStep, Node, OperationStep, digest_of

if TYPE_CHECKING:
    from engine.verify.verification import Verification


OperatedJob = Job[OperationProblem, Operands[Patch | None], OperationVariant]


class OperationTask(StepTask[OperationProblem, Patch | None, OperationVariant]):
    """One operation of `OPERATIONS` on a picture."""

    problem = OperationProblem
    oracle = "engine.work.chain_oracle"
    variants = OPERATION_VARIANTS
    heading = "Other operations (`python main.py filter --operation KEY`)"
    cpu_per_s = gpu_per_s = 2e8

    def problem_fields(self, data: Json) -> dict[str, object]:
        """Return the fields with the settings typed by the operation's parameters."""
        operation = OPERATIONS.get(data["operation"])
        if operation is None:
            raise ValueError(f"{data['operation']!r} is not an operation")
        if not isinstance(data["settings"], str):
            raise TypeError("settings is not of type str")
        given = dict(part.partition("=")[::2] for part in filter(None, data["settings"].split(",")))
        try:
            return data | {"settings": Settings(operation.read(given).items())}
        except UnknownName as error:
            raise ValueError(str(error)) from error

    def steps(self, job: OperatedJob) -> int:
        """Return what the model of work loads and computes."""
        work = job.variant.work(job.problem, job.block)
        return work.global_loads + work.shared_loads + work.flops

    def verify(self, values: Any, job: OperatedJob, checkpoint: Callable[[float], None]) -> "Verification":
        """Compare with the operation's oracle: its own, or that of a chain of this step."""
        own = OPERATIONS[job.problem.operation].verify
        return own(values, job, checkpoint) if own else super().verify(values, job, checkpoint)

    def compared(self, job: OperatedJob) -> tuple[Any, ...]:
        """Return the picture, and a chain of this step."""
        problem, known = job.problem, OPERATIONS[job.problem.operation]
        step = OperationStep(operation=known.key, settings=problem.settings)
        planned = _planned_operation(step, (-1,), job.variant.key, None, problem)
        return job.operands.samples, (structs.replace(planned, cost=known.cost, given=(problem.dtype,)),)

    def answer(
        self, values: np.ndarray, problem: OperationProblem, operands: Operands[Patch | None]
    ) -> Answer:
        """Return what the operation makes of the array."""
        return OPERATIONS[problem.operation].answer(values, problem, operands)

    def reach(self, job: OperatedJob) -> Reach:
        """Return the window of the operation; one without a window needs the whole picture."""
        window = OPERATIONS[job.problem.operation].window
        if window is None:
            return Reach(whole=job.problem.operation)
        side = window(job.problem.parameters)
        return Reach((side, side), (side, side))

    def refuse_samples(self, job: OperatedJob) -> None:
        """Refuse samples that the operation does not take."""
        OPERATIONS[job.problem.operation].refuse(job.operands.samples, job.problem.parameters)

    def described(
        self,
        step: OperationStep,
        samples: np.ndarray,
        given: np.ndarray,
        result_type: str = "same",
        patch: np.ndarray | None = None,
    ) -> tuple[OperationProblem, Patch | None]:
        """Return the problem of an operation alone, in the picture's type, and the patch made ready.

        Without a patch it is what the parameters cut from the picture. Raises UnknownName for an unknown
        operation or parameter, BadValue for a value out of range and a picture that has no such result.
        """
        operation, settings = step.known, dict(step.settings)
        ready: Patch | None = None
        if patch is not None and not operation.takes_patch:
            why = f"{operation.key} takes the picture alone"
            raise BadValue("a patch", why, "Leave it out, or choose find-patch.")
        if patch is not None:
            taken = {"height": patch.shape[0], "width": patch.shape[1]}
            if both := [name for name in (*taken, "left", "top") if name in settings]:
                what = f"{both[0]} with a patch from a file"
                raise BadValue(what, "the whole file is the patch", "Give one of the two.")
            # Before the parameters are read, so that a large one is said to be too large, not its side.
            ready = ready_patch(patch, samples)
            settings |= taken
        parameters = operation.read(settings)
        problem = operation.problem(samples, parameters)
        if ready is None and operation.takes_patch:
            ready = ready_patch(patch_from(samples, parameters), samples)
        return problem, ready

    def known(self, step: OperationStep) -> tuple[OperationVariant, ...]:
        """Return every variant of the operation."""
        return operation_variants(step.operation)

    def named(self, step: OperationStep) -> OperationVariant:
        """Return the variant that a step names."""
        return operation_variant(step.variant, step.operation)

    def choice(
        self,
        step: OperationStep,
        problem: OperationProblem,
        constant: Patch | None,
        device: DeviceInfo,
        *,
        in_parts: bool = False,
    ) -> Choice[OperationVariant]:
        """Return the variant and its block; `auto` takes the last one, the fastest, that can do it."""
        if step.variant != AUTO:
            named = self.named(step)
            return Choice(named, named.block_for(step.block))
        known = [one for one in self.known(step) if one.device == device.kind]
        able = [
            one
            for one in known
            if one.why_not(problem, constant, one.block_for(step.block), device.limits) is None
        ]
        chosen = (able or known)[-1]
        reason = Reason("last-in-list", f"the fastest on {device.title}")
        return Choice(chosen, chosen.block_for(step.block), reason)


def _planned_operation(
    step: OperationStep, inputs: tuple[int, ...], key: str, block: Block | None, problem: OperationProblem
) -> PlannedStep:
    """Return an operation of a chain with its variant and its problem."""
    known = step.known
    reach = None if known.window is None else known.window(problem.parameters)
    return PlannedStep(
        step, inputs, key, block, problem,
        reach=reach,
        reached=None if reach is None else (reach, reach),
        cost=30 * (2 * (reach or 0) + 1) ** 2,
        jumps=known.of_cells is None or known.of_cells.jumps,
    )  # fmt: skip


OPERATION = OperationTask()


STEP_TASKS: dict[str, AnyStepTask] = {MaskStep.kind: FILTERING, OperationStep.kind: OPERATION}
"""What does a step of each kind by itself; combinations have no variants to choose from."""


PlanJob = Job[ChainProblem, Operands[Plan], ChainVariant]


class ChainTask(PictureTask[ChainProblem, Plan, ChainVariant]):
    """Steps of other tasks, one after the other."""

    problem = ChainProblem
    oracle = "engine.work.chain_oracle"
    variants = CHAIN_VARIANTS
    # Measured 12, and what malloc keeps: the windows of a row of pixels that are checked make whole rows.
    proof_rows = 16
    heading = "Chains (`python main.py filter --chain FILE`)"
    gpu_per_s = 3e8

    def steps(self, job: PlanJob) -> int:
        """Return what the steps cost the oracle."""
        return job.problem.samples * sum(planned.cost for planned in job.operands.constant)

    def refuse_operands(self, variant: ChainVariant, operands: Operands[Plan]) -> None:
        """Refuse a picture with NaN or infinity where a step cannot keep them apart."""
        for planned in operands.constant:
            if planned.is_mask:
                refuse_non_finite(planned.variant, operands.samples)  # type: ignore[arg-type]

    def compared(self, job: PlanJob) -> tuple[Any, ...]:
        """Return the picture, and the steps."""
        return job.operands.samples, job.operands.constant

    def reach(self, job: PlanJob) -> Reach:
        """Return how far all steps together reach."""
        return reach_of(job.operands.constant)

    def between(self, job: PlanJob) -> int:
        """Return how many results of steps exist at once."""
        return most_between(job.operands.constant)

    def part(self, job: PlanJob, samples: np.ndarray) -> PlanJob:
        """Return the job for a part of its picture."""
        made, (height, width) = super().part(job, samples), samples.shape[:2]
        plan = tuple(planned.of_size(height, width) for planned in job.operands.constant)
        return replace(made, operands=replace(made.operands, constant=plan))

    def refuse_samples(self, job: PlanJob) -> None:
        """Refuse samples that a step does not take."""
        super().refuse_samples(job)
        for planned in job.operands.constant:
            planned.refuse(job.operands.samples)

    def labels(self, job: PlanJob) -> dict[str, object]:
        """Return the layout of the rows, where it can be chosen, and what tells the steps from others."""
        digest = digest_of((planned.step, planned.inputs) for planned in job.operands.constant)
        return super().labels(job) | {"weights_digest": digest}

    def described(self, chain: Chain, samples: np.ndarray, result_type: str) -> ChainProblem:
        """Return the problem of a chain on a picture (H, W, C)."""
        result_dtype = samples.dtype.name if result_type == "same" else "float32"
        height, width, channels = samples.shape
        title = chain.title or chain.key or ", ".join(step.title for step in chain.steps)
        return ChainProblem(height, width, channels, samples.dtype.name, title, chain.text, result_dtype)

    def choice(self, device: DeviceInfo) -> Choice[ChainVariant]:
        """Return the variant for a kind of device."""
        (chosen,) = CHAIN_VARIANTS.on(device.kind)
        return Choice(chosen, chosen.default_block)

    def plan(self, nodes: tuple[Node, ...], among: Among) -> Plan:
        """Return every step with its variant and its block; an EngineError names the step."""
        plan: list[PlannedStep] = []
        for at, node in enumerate(nodes):
            own = among.samples.dtype.name
            given = tuple(own if one == -1 else plan[one].writes for one in node.inputs)
            plan.append(_planned(node, among, given, is_last=at == len(nodes) - 1))
        return tuple(plan)


def _planned(node: Node, among: Among, given: tuple[str, ...], *, is_last: bool) -> PlannedStep:
    """Return a step with what computes it; `given` are the types of what it reads."""
    step, inputs = node.step, node.inputs
    if isinstance(step, CombineStep):
        return combined(step, inputs, given)
    try:
        if isinstance(step, MaskStep):
            return structs.replace(_mask(step, inputs, among, given[0]), given=given)
        dtype = given[0] if step.known.is_exact and not is_last else "float32"
        return structs.replace(_operation(step, inputs, among, dtype), given=given)
    except EngineError as error:
        raise type(error)(f"step {step.id}: {error.what}", error.why, error.remedy) from error


def _mask(step: MaskStep, inputs: tuple[int, ...], among: Among, given: str) -> PlannedStep:
    # Of whole numbers some variants form sums in another order.
    dtype = given if inputs == (-1,) else "float32"
    # The shape alone: it takes no memory.
    mask, samples = step.applied, np.broadcast_to(np.zeros((), dtype), among.samples.shape)
    problem = describe_problem(samples, mask, step.border, step.cval)
    chosen_for = structs.replace(problem, height=among.part_rows) if among.part_rows else problem
    known = FILTERING.choice(step, chosen_for, mask, among.device, in_parts=among.in_parts).variant
    if step.variant == AUTO and known.library and known.device is DeviceKind.CUDA:
        # Of a library's there are no passes to put among the others.
        known = variant("register-blocked")
    _check_device(step, known, among.device)
    if inputs != (-1,) and known.added_error(problem, mask):
        why = "its error grows with the largest sample, which of an earlier step's result is not known"
        raise BadValue(f"variant {known.key}", why, "Choose auto.")
    block = known.block_for(step.block) if known.uses_block else None
    return planned_mask(step, inputs, known.key, block, problem, mask)


def _operation(step: OperationStep, inputs: tuple[int, ...], among: Among, dtype: str) -> PlannedStep:
    """Return an operation: it reads float32, or 8 or 16 bit where that has the same values in less time."""
    known, samples = step.known, among.samples
    if known.of_cells is None and known.of_all is None:
        why = "what it makes of an error is not known, so its result could not be proven"
        raise BadValue(known.key, why, "Take another operation.")
    parameters = known.read(dict(step.settings))
    # The shape alone: what a picture of float32 must be like is known when it is there.
    problem = known.problem(np.broadcast_to(np.zeros((), dtype), samples.shape), parameters)
    known.refuse(samples, parameters)
    chosen = OPERATION.choice(step, problem, None, among.device).variant
    _check_device(step, chosen, among.device)
    scales = known.of_cells is not None and known.of_cells.scales
    block = chosen.block_for(step.block) if chosen.uses_block else None
    planned = _planned_operation(step, inputs, chosen.key, block, problem)
    return structs.replace(planned, white=1.0 if scales else among.white)


def _check_device(step: AnyStep, chosen: AnyVariant, device: DeviceInfo) -> None:
    if chosen.device != device.kind:
        why = f"it is written for {chosen.device.upper()}, and the chain runs on {device.title}"
        raise BadValue(f"variant {step.variant}", why, "Choose auto, or another device for the whole chain.")


CHAIN = ChainTask()
