"""What a variant that computes an operation on a picture is, and every one. No Numba in here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.results.work import Work
from engine.run.registered import Registered, named
from engine.run.variant import VariantOf
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem

DEFAULT_BLOCK = Block(32, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationVariant(VariantOf[OperationProblem, Patch | None]):
    """One way to compute one operation; its constant is the patch to find, where there is one."""

    task: ClassVar[str] = OperationProblem.task

    operation: str  # key of the operation
    work: Callable[[OperationProblem, Block], Work]
    default_block: Block = DEFAULT_BLOCK
    # Whether each thread has an array in local memory, to show what that is; all others keep to registers.
    uses_local_memory: bool = False

    @property
    def facts(self) -> dict[str, object]:
        """The operation."""
        return {"operation": self.operation}

    @property
    def line(self) -> str:
        """What `variants` says of it."""
        return f"{self.operation}: {self.key}: {self.idea}"

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


OPERATION_VARIANTS = Registered[OperationVariant](
    cpu=(
        "operations.cpu_negative",
        "operations.cpu_threshold",
        "operations.cpu_desaturate",
        "operations.cpu_hue_shift",
        "operations.cpu_histogram",
        "operations.cpu_equalise",
        "operations.cpu_gradient",
        "operations.cpu_median",
        "operations.cpu_minimum",
        "operations.cpu_maximum",
        "operations.cpu_morphology",
        "operations.cpu_bilateral",
        "operations.cpu_match",
        "operations.cpu_dct",
    ),
    cuda=(
        "operations.cuda_negative",
        "operations.cuda_threshold",
        "operations.cuda_desaturate",
        "operations.cuda_hue_shift",
        "operations.histogram_global",
        "operations.histogram_shared",
        "operations.cuda_equalise",
        "operations.cuda_gradient",
        "operations.median_naive",
        "operations.median_local",
        "operations.median_tiled",
        "operations.cuda_minimum",
        "operations.cuda_maximum",
        "operations.cuda_morphology",
        "operations.cuda_bilateral",
        "operations.match_naive",
        "operations.match_tiled",
        "operations.dct_direct",
        "operations.dct_tiled",
    ),
)
"""The variants of other operations on pictures; of an operation the last on a device is the fastest there."""


def operation_variants(operation: str) -> tuple[OperationVariant, ...]:
    """Return the variants of an operation, in teaching order."""
    return tuple(known for known in OPERATION_VARIANTS if known.operation == operation)


def operation_variant(key: str, operation: str) -> OperationVariant:
    """Return the variant of an operation of that key; an `UnknownName` names all of them."""
    known = operation_variants(operation)
    return named(key, known, ("auto",), f"no variant of {operation} is called that", alike=0.5)
