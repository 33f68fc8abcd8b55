"""The contract of a variant that computes an operation on a picture. No Numba in here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.work import Work
from engine.variants.contract import AnyVariant

DEFAULT_BLOCK = Block(32, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationVariant(AnyVariant[OperationProblem, Patch | None]):
    """One way to compute one operation; its constant is the patch to find, where there is one."""

    task: ClassVar[str] = OperationProblem.task

    operation: str  # key of the operation
    work: Callable[[OperationProblem, Block], Work]
    default_block: Block = DEFAULT_BLOCK
    # Whether each thread has an array in local memory, to show what that is; all others keep to registers.
    uses_local_memory: bool = False

    def why_not(
        self,
        problem: OperationProblem,
        constant: Patch | None,
        block: Block,
        limits: Limits,
        known: Iterable[Any] = (),
    ) -> Refusal | None:
        """Return why the variant cannot do that, or None; the reason names those `known` that can."""
        if problem.operation != self.operation:
            keys = [other.key for other in known if other.operation == problem.operation]
            return Refusal(
                "other-operation",
                f"Computes {self.operation}, not {problem.operation}",
                f"It computes {self.operation}, not {problem.operation}.",
                f"Choose one of: {', '.join(keys)}.",
            )
        return self.unsupported(problem, constant, block, limits)
