"""What the tasks of pictures share: operands, buffers, and how a step becomes a problem with a variant."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.results.found import Answer
from engine.run.registered import V
from engine.run.task import Choice, Job, Task
from engine.work.operands import Operands
from engine.work.picture_problem import PictureProblem
from engine.work.planned import PlannedStep
from engine.work.steps import Node

P = TypeVar("P", bound=PictureProblem)
C = TypeVar("C")


@dataclass(frozen=True, slots=True, eq=False)
class Among:
    """Where a step of a chain is planned: the picture, the device, and whether it is computed in parts."""

    samples: np.ndarray
    device: DeviceInfo
    in_parts: bool = False
    part_rows: int | None = None  # of the parts that `auto` chooses for

    @property
    def white(self) -> float:
        """White in the picture."""
        kind = self.samples.dtype
        return 1.0 if kind == np.float32 else float(np.iinfo(kind).max)


class PictureTask(Task[P, Operands[C], V]):
    """A task whose operands are a picture (H, W, C) and what its variant is compiled with."""

    def allocate(self, backend: Backend, job: Job[P, Operands[C], V], host_out: Any = None) -> Buffers:
        """Return buffers for the picture and for the array that the variant writes."""
        operands, problem = job.operands, job.problem
        if host_out is None and problem.result_shape != operands.samples.shape:
            host_out = np.empty(problem.result_shape, problem.result_dtype)
        return backend.allocate(operands.samples, host_out, operands.layout, problem.result_dtype)

    def upload(self, backend: Backend, operands: Operands[C], buffers: Buffers) -> None:
        """Copy the picture to the device."""
        backend.upload(operands.samples, buffers)

    def part(self, job: Job[P, Operands[C], V], samples: np.ndarray) -> Job[P, Operands[C], V]:
        """Return the same job for a part of its picture, as a picture of its own."""
        problem = job.problem.of_size(*samples.shape[:2])
        return replace(job, problem=problem, operands=replace(job.operands, samples=samples))

    def constant(self, operands: Operands[C]) -> C:
        """Return the mask, the patch, or the planned steps."""
        return operands.constant

    def labels(self, job: Job[P, Operands[C], V]) -> dict[str, Any]:
        """Return the layout of the rows, where it can be chosen."""
        return {"layout": str(job.operands.layout) if job.variant.device == "cuda" else ""}

    def answer(self, values: np.ndarray, problem: P, operands: Operands[C]) -> Answer:
        """Return what a person gets from the array that a variant wrote."""
        return Answer(values)


class StepTask(PictureTask[P, C, V]):
    """A task that does a step: alone, or among the others of a chain."""

    @abstractmethod
    def described(
        self,
        step: Any,
        samples: np.ndarray,
        given: np.ndarray,
        result_type: str,
        patch: np.ndarray | None,
    ) -> tuple[P, C]:
        """Return the problem of a step alone, and its constant; an EngineError for an illegal value.

        Parameters
        ----------
        samples : ndarray of shape (H, W, C)
        given : ndarray
            The picture as it was given: results may be of its type.
        result_type : str
            "float32" or "same", where the step leaves a choice.
        patch : ndarray of shape (h, w, C), optional
            A patch that is no part of the picture.
        """

    @abstractmethod
    def known(self, step: Any) -> tuple[V, ...]:
        """Return every variant that may do a step, in teaching order."""

    @abstractmethod
    def named(self, step: Any) -> V:
        """Return the variant that a step names; UnknownName where there is none."""

    @abstractmethod
    def choice(
        self, step: Any, problem: P, constant: C, device: DeviceInfo, *, in_parts: bool = False
    ) -> Choice[V]:
        """Return the variant and the block of a step alone on a device; `auto` says why it chose it."""

    @abstractmethod
    def planned(self, node: Node, among: Among) -> PlannedStep:
        """Return a step of a chain with what computes it; an EngineError where nothing does."""


def check_device(key: str, kind: str, device: DeviceInfo) -> None:
    """Refuse a variant of a chain's step that is written for another kind of device than the chain's."""
    if kind != device.kind:
        why = f"it is written for {kind.upper()}, and the chain runs on {device.title}"
        raise BadValue(f"variant {key}", why, "Choose auto, or another device for the whole chain.")
