"""The task of an operation on a picture, for the pipeline."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device_info import AUTO, INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.errors import BadValue
from engine.geometry.cut import Reach
from engine.reason import Reason
from engine.results.found import Answer
from engine.run.task import Choice, Job
from engine.work.operands import Operands
from engine.work.operations.contract import Patch
from engine.work.operations.find_patch import patch_from, ready_patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.table import OPERATIONS
from engine.work.operations.variants import (
    OPERATION_VARIANTS,
    OperationVariant,
    operation_variant,
    operation_variants,
)
from engine.work.picture_task import Among, StepTask, check_device
from engine.work.planned import PlannedStep
from engine.work.steps import Node, OperationStep

if TYPE_CHECKING:
    from engine.verify.verification import Verification

OperatedJob = Job[OperationProblem, Operands[Patch | None], OperationVariant]


class OperationTask(StepTask[OperationProblem, Patch | None, OperationVariant]):
    """One operation of `OPERATIONS` on a picture."""

    problem = OperationProblem
    variants = OPERATION_VARIANTS
    heading = "Other operations (`python main.py filter --operation KEY`)"

    def problem_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with the settings typed by the operation's parameters."""
        operation = OPERATIONS.get(data["operation"])
        if operation is None:
            raise ValueError(f"{data['operation']!r} is not an operation")
        if not isinstance(data["settings"], str):
            raise TypeError("settings is not of type str")
        return data | {"settings": operation.read_written(data["settings"])}

    def expected_launch_s(self, job: OperatedJob, device: DeviceInfo) -> float:
        """Estimate one launch, seconds, by what the model of work loads."""
        work = job.variant.work(job.problem, job.block)
        steps = work.global_loads + work.shared_loads + work.flops
        return 0.5 + steps / (INTERPRETED_PER_S if device.key == SIMULATOR else 2e8)

    def verify(self, values: Any, job: OperatedJob, checkpoint: Callable[[float], None]) -> "Verification":
        """Compare with the operation's oracle."""
        operation = OPERATIONS[job.problem.operation]
        return operation.verified(values, job.operands, job.problem, job.seed, job.affordable, checkpoint)

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

    def planned(self, node: Node, among: Among) -> PlannedStep:
        """Return an operation of a chain with what computes it: it reads and writes float32."""
        step: OperationStep = node.step  # type: ignore[assignment]
        known, samples = step.known, among.samples
        if known.of_cells is None and known.key != "equalise":
            why = "what it makes of an error is not known, so its result could not be proven"
            raise BadValue(known.key, why, "Take another operation.")
        parameters = known.read(dict(step.settings))
        # The shape alone: what a picture of float32 must be like is known when it is there.
        problem = known.problem(np.broadcast_to(np.float32(0.0), samples.shape), parameters)
        known.refuse(samples, parameters)
        able = [one for one in self.known(step) if one.device == among.device.kind]
        chosen = able[-1] if step.variant == AUTO else self.named(step)
        check_device(step.variant, chosen.device, among.device)
        scales = known.of_cells is not None and known.of_cells.scales
        block = chosen.block_for(step.block) if chosen.uses_block else None
        reach = None if known.window is None else known.window(parameters)
        return PlannedStep(
            step, node.inputs, chosen.key, block, problem,
            white=1.0 if scales else among.white,
            reach=reach,
            reached=None if reach is None else (reach, reach),
            cost=30 * (2 * (reach or 0) + 1) ** 2,
            jumps=known.of_cells is None or known.of_cells.jumps,
        )  # fmt: skip


OPERATION = OperationTask()
