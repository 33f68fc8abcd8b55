"""The steps of a chain with what computes each: problem, variant, block. No Numba in here.

It is plain data, which goes to another process with its job; variants are named by their keys.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct, structs

from engine.geometry.block import Block, Limits, Refusal
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.variant import AnyVariant, Registered, VariantOf
from engine.work.problem import ChainProblem, OperationProblem, Problem
from engine.work.steps import AnyStep, OperationStep

StepProblem = Problem | OperationProblem
COMBINED = "combined"
"""Stands for a variant where two results become one: there is one way on each device."""
_NO_BLOCK = Block(1, 1)


class PlannedStep(Struct, frozen=True):
    """A step that is computed."""

    step: AnyStep
    inputs: tuple[int, ...]  # places of earlier ones; -1 is the picture
    given: tuple[str, ...]  # types of samples that its inputs have; what it `reads` may be float32
    variant_key: str = COMBINED
    block: Block | None = None
    problem: StepProblem | None = None  # None where two results are combined
    mask: Mask | None = None
    # White, where the operation takes pictures from 0 to 1 and these go further; else 1.
    white: float = 1.0
    cost: int = 8  # multiply-adds that the oracle spends on a sample of it

    @property
    def variant(self) -> AnyVariant | None:
        """The variant; None where two results are combined."""
        step: Any = self.step
        return None if self.problem is None else step.named(self.variant_key)

    @property
    def reached(self) -> tuple[int, int] | None:
        """How far along rows and columns the cells lie that a sample depends on; None: beyond any window."""
        if isinstance(self.problem, Problem):
            return max(self.problem.reach.rows), max(self.problem.reach.columns)
        if not isinstance(self.step, OperationStep) or not isinstance(self.problem, OperationProblem):
            return 0, 0
        window = self.step.known.window
        return None if window is None else (window(self.problem.parameters),) * 2

    @property
    def reach(self) -> int | None:
        """The same on each side, as the oracle has it: of a mask wherever its anchor lies."""
        if isinstance(self.problem, Problem):
            return max(self.problem.mask_shape) - 1
        return self.reached and self.reached[0]

    @property
    def jumps(self) -> bool:
        """Whether a small difference of a sample may make a large one of the result."""
        if not isinstance(self.step, OperationStep):
            return False
        return self.step.known.of_cells is None or self.step.known.of_cells.jumps

    @property
    def border(self) -> Border:
        """The rule for the cells outside: operations repeat the nearest one."""
        return self.problem.border if isinstance(self.problem, Problem) else Border.REPLICATE

    @property
    def reads(self) -> str:
        """The type of samples that it reads: what has another one becomes float32 first."""
        return "float32" if self.problem is None else self.problem.dtype

    @property
    def writes(self) -> str:
        """The type of its result: that of the picture where a step computes it exactly, else float32."""
        return "float32" if self.problem is None else self.problem.result_dtype

    def quantised(self, dtype: str) -> "PlannedStep | None":
        """Return the step with results of 8 or 16 bit, where they are those of float32; else None."""
        step, problem = self.step, self.problem
        if not isinstance(step, OperationStep) or not isinstance(problem, OperationProblem):
            return None
        if self.given != (dtype,) or dtype == "float32" or not step.known.is_exact:
            return None
        shape = problem.height, problem.width, problem.channels
        return structs.replace(self, problem=step.known.problem_of(shape, dtype, problem.parameters))

    @property
    def places(self) -> tuple["Place", ...]:
        """What it reads."""
        return tuple((one, self.reads) for one in self.inputs)

    @property
    def sources(self) -> tuple["Place", ...]:
        """What that is made of: the same, or samples of another type."""
        return tuple(zip(self.inputs, self.given, strict=True))

    def of_size(self, height: int, width: int) -> "PlannedStep":
        """Return the same step for a picture of another size."""
        return structs.replace(self, problem=self.problem and self.problem.of_size(height, width))

    def refuse(self, samples: np.ndarray) -> None:
        """Refuse samples of a picture that an operation does not take."""
        if isinstance(self.step, OperationStep) and isinstance(self.problem, OperationProblem):
            self.step.known.refuse(samples, self.problem.parameters)


Plan = tuple[PlannedStep, ...]
Place = tuple[int, str]
"""A result by its step, or the picture, -1, and the type of its samples: of some there are two."""


def last_readers(plan: Plan) -> dict[Place, int]:
    """Return the last step that needs each place but the picture as it is."""
    readers: dict[Place, int] = {}
    for at, planned in enumerate(plan):
        readers |= dict.fromkeys((*planned.sources, *planned.places), at)
    pictures = {source for planned in plan for source in planned.sources if source[0] == -1}
    return {place: at for place, at in readers.items() if place not in pictures}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVariant(VariantOf[ChainProblem, Plan]):
    """Chains on one kind of device; its constant are the planned steps."""

    task: ClassVar[str] = ChainProblem.task

    uses_block: bool = False
    default_block: Block = _NO_BLOCK


CHAIN_VARIANTS = Registered[ChainVariant](cpu=("chain:CPU",), cuda=("chain:CUDA",))
"""One for each kind of device: how a step is computed, its own variant says."""


def refuse_step(problem: ChainProblem, plan: Plan, block: Block, limits: Limits) -> Refusal | None:
    """Return why a step cannot be computed on a device of these limits, or None."""
    for planned in plan:
        if (variant := planned.variant) is not None:
            own = planned.block or variant.default_block
            refusal: Refusal | None = variant.why_not(planned.problem, planned.mask, own, limits)
            if refusal is not None:
                return refusal
    return None
