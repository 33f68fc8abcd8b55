"""The task of an operation on a picture, for the pipeline."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device_info import INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.geometry.cut import Reach
from engine.run.task import Job, Task
from engine.work.operations.contract import OperationOperands, Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.table import OPERATIONS
from engine.work.operations.variants import OPERATION_VARIANTS, OperationVariant

if TYPE_CHECKING:
    from engine.verify.verification import Verification


class OperationTask(Task[OperationProblem, OperationOperands, OperationVariant]):
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

    def expected_launch_s(self, job: "OperationJob", device: DeviceInfo) -> float:
        """Estimate one launch, seconds, by what the model of work loads."""
        work = job.variant.work(job.problem, job.block)
        steps = work.global_loads + work.shared_loads + work.flops
        return 0.5 + steps / (INTERPRETED_PER_S if device.key == SIMULATOR else 2e8)

    def allocate(self, backend: Backend, job: "OperationJob", host_out: Any = None) -> Buffers:
        """Return buffers for the picture and for the array that the variant writes."""
        problem, operands = job.problem, job.operands
        if host_out is None:
            host_out = np.empty(problem.result_shape, problem.result_dtype)
        return backend.allocate(operands.samples, host_out, operands.layout, problem.result_dtype)

    def upload(self, backend: Backend, operands: OperationOperands, buffers: Buffers) -> None:
        """Copy the picture to the device."""
        backend.upload(operands.samples, buffers)

    def constant(self, operands: OperationOperands) -> Patch | None:
        """Return the patch."""
        return operands.patch

    def verify(self, values: Any, job: "OperationJob", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare with the operation's oracle."""
        operation = OPERATIONS[job.problem.operation]
        return operation.verify(values, job.operands, job.problem, job.seed, job.affordable, checkpoint)

    def reach(self, job: "OperationJob") -> Reach:
        """Return the window of the operation; one without a window needs the whole picture."""
        window = OPERATIONS[job.problem.operation].window
        if window is None:
            return Reach(whole=job.problem.operation)
        side = window(job.problem.parameters)
        return Reach((side, side), (side, side))

    def part(self, job: "OperationJob", samples: np.ndarray) -> "OperationJob":
        """Return the job for a part of its picture."""
        problem = job.problem.of_size(*samples.shape[:2])
        return replace(job, problem=problem, operands=replace(job.operands, samples=samples))

    def refuse_samples(self, job: "OperationJob") -> None:
        """Refuse samples that the operation does not take."""
        OPERATIONS[job.problem.operation].refuse(job.operands.samples, job.problem.parameters)

    def labels(self, job: "OperationJob") -> dict[str, Any]:
        """Return the layout of the rows, where it can be chosen."""
        return {"layout": str(job.operands.layout) if job.variant.device == "cuda" else ""}


OperationJob = Job[OperationProblem, OperationOperands, OperationVariant]
OPERATION = OperationTask()
