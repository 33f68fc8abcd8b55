"""The task of a chain, for the pipeline."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device_info import INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.errors import EngineError
from engine.geometry.cut import Reach
from engine.run.task import Choice, Job
from engine.work.chain_problem import ChainProblem
from engine.work.chain_variants import CHAIN_VARIANTS, ChainVariant
from engine.work.filter_task import FILTERING, refuse_non_finite
from engine.work.operands import Operands
from engine.work.operation_task import OPERATION
from engine.work.picture_task import Among, PictureTask, StepTask
from engine.work.planned import Plan, PlannedStep, combined, most_between, reach_of
from engine.work.steps import Chain, CombineStep, MaskStep, Node, OperationStep, digest_of

if TYPE_CHECKING:
    from engine.verify.verification import Verification

STEP_TASKS: dict[str, StepTask[Any, Any, Any]] = {MaskStep.kind: FILTERING, OperationStep.kind: OPERATION}
"""What does a step of each kind by itself; combinations have no variants to choose from."""

PlanJob = Job[ChainProblem, Operands[Plan], ChainVariant]


class ChainTask(PictureTask[ChainProblem, Plan, ChainVariant]):
    """Steps of other tasks, one after the other."""

    problem = ChainProblem
    variants = CHAIN_VARIANTS
    # Measured 12, and what malloc keeps: the windows of a row of pixels that are checked make whole rows.
    proof_rows = 16
    heading = "Chains (`python main.py filter --chain FILE`)"

    def expected_launch_s(self, job: PlanJob, device: DeviceInfo) -> float:
        """Estimate one launch, seconds, by what the steps cost the oracle."""
        steps = job.problem.samples * sum(planned.cost for planned in job.operands.constant)
        return 0.5 + steps / (INTERPRETED_PER_S if device.key == SIMULATOR else 3e8)

    def refuse_operands(self, variant: ChainVariant, operands: Operands[Plan]) -> None:
        """Refuse a picture with NaN or infinity where a step cannot keep them apart."""
        for planned in operands.constant:
            if planned.is_mask:
                refuse_non_finite(planned.variant, operands.samples)  # type: ignore[arg-type]

    def verify(self, values: Any, job: PlanJob, checkpoint: Callable[[float], None]) -> "Verification":
        """Compare with the float64 oracle of the whole chain."""
        # Loaded by the first proof: a preview needs none.
        verify = import_module("engine.work.chain_agreement").verify
        proof: Verification = verify(values, job.operands, job.problem, job.seed, job.affordable, checkpoint)
        return proof

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

    def labels(self, job: PlanJob) -> dict[str, Any]:
        """Return the layout of the rows, where it can be chosen, and what tells the steps from others."""
        digest = digest_of((planned.step, planned.inputs) for planned in job.operands.constant)
        return super().labels(job) | {"weights_digest": digest}

    def described(self, chain: Chain, samples: np.ndarray) -> ChainProblem:
        """Return the problem of a chain on a picture (H, W, C)."""
        height, width, channels = samples.shape
        title = chain.title or chain.key or ", ".join(step.title for step in chain.steps)
        return ChainProblem(height, width, channels, samples.dtype.name, title, chain.text)

    def choice(self, device: DeviceInfo) -> Choice[ChainVariant]:
        """Return the variant for a kind of device."""
        (chosen,) = CHAIN_VARIANTS.on(device.kind)
        return Choice(chosen, chosen.default_block)

    def plan(self, nodes: tuple[Node, ...], among: Among) -> Plan:
        """Return every step with its variant and its block; an EngineError names the step."""
        return tuple(_planned(node, among) for node in nodes)


def _planned(node: Node, among: Among) -> PlannedStep:
    step = node.step
    if step.kind == CombineStep.kind:
        return combined(step, node.inputs)
    try:
        return STEP_TASKS[step.kind].planned(node, among)
    except EngineError as error:
        raise type(error)(f"step {step.id}: {error.what}", error.why, error.remedy) from error


CHAIN = ChainTask()
