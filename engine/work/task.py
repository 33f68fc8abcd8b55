"""The task of a chain, for the pipeline."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device_info import INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.geometry.cut import Reach
from engine.run.task import Job, Task
from engine.work.chain_problem import ChainProblem
from engine.work.chain_variants import CHAIN_VARIANTS, ChainVariant
from engine.work.filtering.task import refuse_non_finite
from engine.work.filtering.variants import Variant
from engine.work.planned import ChainOperands, Plan, most_between, reach_of
from engine.work.steps import digest_of

if TYPE_CHECKING:
    from engine.verify.verification import Verification


class ChainTask(Task[ChainProblem, ChainOperands, ChainVariant]):
    """Steps of other tasks, one after the other."""

    problem = ChainProblem
    variants = CHAIN_VARIANTS
    # Measured 12, and what malloc keeps: the windows of a row of pixels that are checked make whole rows.
    proof_rows = 16
    heading = "Chains (`python main.py filter --chain FILE`)"

    def expected_launch_s(self, job: "ChainJob", device: DeviceInfo) -> float:
        """Estimate one launch, seconds, by what the steps cost the oracle."""
        steps = job.problem.samples * sum(planned.cost for planned in job.operands.plan)
        return 0.5 + steps / (INTERPRETED_PER_S if device.key == SIMULATOR else 3e8)

    def allocate(self, backend: Backend, job: "ChainJob", host_out: Any = None) -> Buffers:
        """Return buffers for the picture and the result."""
        operands = job.operands
        return backend.allocate(operands.samples, host_out, operands.layout, job.problem.result_dtype)

    def upload(self, backend: Backend, operands: ChainOperands, buffers: Buffers) -> None:
        """Copy the picture to the device."""
        backend.upload(operands.samples, buffers)

    def constant(self, operands: ChainOperands) -> Plan:
        """Return the steps."""
        return operands.plan

    def refuse_operands(self, variant: ChainVariant, operands: ChainOperands) -> None:
        """Refuse a picture with NaN or infinity where a step cannot keep them apart."""
        for planned in operands.plan:
            if isinstance(of_step := planned.variant, Variant):
                refuse_non_finite(of_step, operands.samples)

    def verify(self, values: Any, job: "ChainJob", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare with the float64 oracle of the whole chain."""
        # Loaded by the first proof: a preview needs none.
        verify = import_module("engine.work.chain_agreement").verify
        proof: Verification = verify(values, job.operands, job.problem, job.seed, job.affordable, checkpoint)
        return proof

    def reach(self, job: "ChainJob") -> Reach:
        """Return how far all steps together reach."""
        return reach_of(job.operands.plan)

    def between(self, job: "ChainJob") -> int:
        """Return how many results of steps exist at once."""
        return most_between(job.operands.plan)

    def part(self, job: "ChainJob", samples: np.ndarray) -> "ChainJob":
        """Return the job for a part of its picture."""
        height, width = samples.shape[:2]
        plan = tuple(planned.of_size(height, width) for planned in job.operands.plan)
        operands = replace(job.operands, samples=samples, plan=plan)
        return replace(job, problem=job.problem.of_size(height, width), operands=operands)

    def refuse_samples(self, job: "ChainJob") -> None:
        """Refuse samples that a step does not take."""
        super().refuse_samples(job)
        for planned in job.operands.plan:
            planned.refuse(job.operands.samples)

    def labels(self, job: "ChainJob") -> dict[str, Any]:
        """Return the layout of the rows, where it can be chosen, and what tells the steps from others."""
        layout = str(job.operands.layout) if job.variant.device == "cuda" else ""
        digest = digest_of((planned.step, planned.inputs) for planned in job.operands.plan)
        return {"layout": layout, "weights_digest": digest}


ChainJob = Job[ChainProblem, ChainOperands, ChainVariant]
CHAIN = ChainTask()
