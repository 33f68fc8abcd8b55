"""Job: one way to compute one problem of any task. It can be sent to another process."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

import numpy as np

from engine.device_info import DeviceInfo
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.reason import Reason
from engine.run.device_choice import refuse_unsuitable
from engine.tasks.contract import O, P, Task, V
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.task import FILTERING, FilterOperands
from engine.variants.auto.planner import Choice
from engine.variants.contract import Variant
from engine.variants.registry import registered


@dataclass(frozen=True, eq=False)
class Job(Generic[P, O, V]):
    """What the pipeline computes: a task's problem with its operands, by one variant with one block."""

    task: Task[P, O, V]
    variant: V
    block: Block
    problem: P
    operands: O
    chosen_because: Reason | None = None  # the planner's reason where `auto` was asked for
    # Of the pixels that are verified where the oracle cannot afford everything, and of random operands.
    seed: int = 0
    affordable: int | None = None  # multiply-adds that the oracle may spend; None: the task's own

    def __reduce__(self) -> tuple[Any, ...]:
        """Send a variant, which has functions, as the call that returns it."""
        made = self.variant.made_by or partial(registered, self.variant.task, self.variant.key)
        rest = self.block, self.problem, self.operands, self.chosen_because, self.seed, self.affordable
        return _received, (self.task, made, *rest)

    def refuse(self, device: DeviceInfo) -> None:
        """Raise UnsupportedVariant or BadValue for what cannot be done on a device with these operands."""
        constant = self.task.constant(self.operands)
        refuse_unsuitable(self.variant, self.problem, constant, self.block, device)
        self.task.refuse_operands(self.variant, self.operands)


def _received(task: Task[Any, Any, Any], made_by: Callable[[], Any], *rest: Any) -> Job[Any, Any, Any]:
    return Job(task, made_by(), *rest)


AnyJob = Job[Any, Any, Any]
FilterJob = Job[Problem, FilterOperands, Variant]


def filter_job(
    choice: Choice,
    problem: Problem,
    mask: Mask,
    samples: np.ndarray,
    *,
    layout: Layout = Layout.PITCHED,
    seed: int = 0,
) -> FilterJob:
    """Return the job of filtering `samples` (H x W x C, of the problem's dtype) with one mask."""
    operands = FilterOperands(samples, mask, layout)
    return Job(FILTERING, choice.variant, choice.block, problem, operands, choice.reason, seed)
