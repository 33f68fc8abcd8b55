"""Resolves a request for an operation into what the pipeline computes: problem, device, variant and block."""

from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from engine.device.devices import device_named
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue
from engine.geometry.cut import Reach
from engine.reason import Reason
from engine.run.device_choice import device_for
from engine.run.task import Choice, Job
from engine.work.operations.contract import Answer, Operation, OperationOperands
from engine.work.operations.find_patch import patch_from, ready_patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.request import OperationRequest
from engine.work.operations.table import operation_named
from engine.work.operations.task import OPERATION, OperationJob
from engine.work.operations.variants import OperationVariant, operation_variant, operation_variants


def resolved_operands(
    asked: OperationRequest, samples: np.ndarray, patch: np.ndarray | None = None
) -> tuple[Operation, OperationProblem, OperationOperands]:
    """Return the operation, its problem and its operands.

    Parameters
    ----------
    samples : ndarray of shape (H, W, C)
    patch : ndarray of shape (h, w, C), optional
        To find; None: what the parameters cut from the picture.

    Raises
    ------
    UnknownName
        An operation or a parameter is unknown.
    BadValue
        A value is out of range, or a picture has no such result.
    """
    operation = operation_named(asked.operation)
    if patch is not None and not operation.takes_patch:
        why = f"{operation.key} takes the picture alone"
        raise BadValue("a patch", why, "Leave it out, or choose find-patch.")
    given, ready = dict(asked.settings), None
    if patch is not None:
        taken = {"height": patch.shape[0], "width": patch.shape[1]}
        if both := [name for name in (*taken, "left", "top") if name in given]:
            what = f"{both[0]} with a patch from a file"
            raise BadValue(what, "the whole file is the patch", "Give one of the two.")
        # Before the parameters are read, so that a large one is said to be too large, not its side.
        ready = ready_patch(patch, samples)
        given |= taken
    parameters = operation.read(given)
    problem = operation.problem(samples, parameters)
    if ready is None and operation.takes_patch:
        ready = ready_patch(patch_from(samples, parameters), samples)
    return operation, problem, OperationOperands(samples, ready, asked.layout)


def resolved_for_parts(asked: OperationRequest, samples: np.ndarray) -> "ResolvedOperation":
    """Return a request resolved for a picture of which only the shape and the type are known yet."""
    if operation_named(asked.operation).takes_patch:
        why = "its result depends on the whole picture at once"
        raise BadValue(f"{asked.operation} on a picture in parts", why, "Take a smaller picture, or a part.")
    return ResolvedOperation(asked, samples)


class ResolvedOperation:
    """A request with its operation, problem, device, variant and block; raises what is named above."""

    def __init__(self, asked: OperationRequest, samples: np.ndarray, patch: np.ndarray | None = None) -> None:
        self.asked, self.samples = asked, samples
        self.operation, self.problem, self.operands = resolved_operands(asked, samples, patch)
        self.device: DeviceInfo = (
            device_named(asked.device)
            if asked.variant == AUTO
            else device_for(operation_variant(asked.variant, asked.operation), asked.device)
        )

    @cached_property
    def choice(self) -> Choice[OperationVariant]:
        """The variant and its block; `auto` takes the last one, which is the fastest, that can do it."""
        asked = self.asked
        if asked.variant != AUTO:
            chosen = operation_variant(asked.variant, asked.operation)
            return Choice(chosen, chosen.block_for(self.asked.block))
        known = [one for one in operation_variants(asked.operation) if one.device == self.device.kind]
        able = [one for one in known if not self._refused(one)]
        chosen = (able or known)[-1]
        reason = Reason("last-in-list", f"the fastest on {self.device.title}")
        return Choice(chosen, chosen.block_for(self.asked.block), reason)

    @property
    def reach(self) -> Reach:
        """The cells that a result depends on."""
        return OPERATION.reach(self.job())

    def in_parts(self, rows: int | None = None) -> Self:
        """Return it as it is: no variant's results depend on where a picture is cut."""
        return self

    def as_saved(self, saved: np.dtype[Any], range_mode: str) -> Self:
        """Return it as it is: the type of its results is always the same."""
        return self

    @property
    def settled(self) -> OperationRequest:
        """The request with the device, the variant and the block that were chosen."""
        variant, block, _ = self.choice
        return replace(self.asked, variant=variant.key, block=block, device=self.device.key)

    def job(self, *, seed: int = 0, affordable: int | None = None) -> OperationJob:
        """Return the job for the pipeline."""
        variant, block, reason = self.choice
        return Job(OPERATION, variant, block, self.problem, self.operands, reason, seed, affordable)

    def answer(self, values: np.ndarray) -> Answer:
        """Return what a person gets from the array that the variant wrote."""
        return self.operation.answer(values, self.problem, self.operands)

    def _refused(self, chosen: OperationVariant) -> bool:
        block, patch = chosen.block_for(self.asked.block), self.operands.patch
        return chosen.why_not(self.problem, patch, block, self.device.limits) is not None
