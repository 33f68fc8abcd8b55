"""Job: one way to compute one problem. It can be sent to another process."""

from dataclasses import dataclass
from typing import Any, Generic

from engine.device_info import DeviceInfo
from engine.geometry.block import Block
from engine.tasks.contract import O, P, Task, V


@dataclass(frozen=True)
class Job(Generic[P, O, V]):
    """What the pipeline computes: a task's problem with its operands, by one variant with one block.

    Parameters
    ----------
    task : Task
    variant : Variant of the task
    block : Block
        Ignored where the variant has none.
    problem, operands
        Of the task.
    chosen_because : str
        The planner's reason where `auto` was asked for.
    seed : int
        Of the rectangles that are verified where everything is too much, and of random operands.
    affordable : int, optional
        Multiply-adds that the oracle may spend; None: the task's own.
    """

    task: Task[P, O, V]
    variant: V
    block: Block
    problem: P
    operands: O
    chosen_because: str = ""
    seed: int = 0
    affordable: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Send a variant, which has functions, as its key."""
        rest = self.block, self.problem, self.operands, self.chosen_because, self.seed, self.affordable
        return _received, (self.task, self.variant.key, *rest)

    def refuse(self, device: DeviceInfo) -> None:
        """Refuse what cannot be done on a device.

        Raises
        ------
        UnsupportedVariant, BadValue
        """
        self.task.refuse(self.variant, self.problem, self.operands, self.block, device)


def _received(
    task: Task[Any, Any, Any], key: str, block: Block, problem: object, operands: object, *rest: Any
) -> Job[Any, Any, Any]:
    return Job(task, task.variant(key, operands), block, problem, operands, *rest)


AnyJob = Job[Any, Any, Any]
