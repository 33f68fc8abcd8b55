"""The steps of a chain with what computes each: problem, variant, block. No Numba in here.

It is plain data, which goes to another process with its job; variants are named by their keys.
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.cut import Reach, common_border, is_near
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.run.variant import AnyVariant
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import Variant
from engine.work.filtering.variants import variant as filter_variant
from engine.work.operations.problem import OperationProblem
from engine.work.operations.table import operation_named
from engine.work.operations.variants import operation_variant
from engine.work.steps import AnyStep, CombineStep

StepProblem = Problem | OperationProblem
COMBINED = "combined"
"""Stands for a variant where two results become one: there is one way on each device."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step that is computed.

    `inputs` are places of earlier ones, -1 is the picture. A step that combines has no problem.
    """

    step: AnyStep
    inputs: tuple[int, ...]
    variant_key: str
    block: Block | None
    problem: StepProblem | None
    mask: Mask | None = None
    # White, where the operation takes pictures from 0 to 1 and these go further; else 1.
    white: float = 1.0

    @property
    def variant(self) -> AnyVariant | None:  # type: ignore[type-arg]
        """The variant; None where two results are combined."""
        if isinstance(self.problem, Problem):
            return filter_variant(self.variant_key)
        if self.problem is not None:
            return operation_variant(self.variant_key, self.problem.operation)
        return None

    @property
    def reads_floats(self) -> bool:
        """Whether it reads the picture as float32: a mask takes its own type."""
        return not isinstance(self.problem, Problem)

    @property
    def reach(self) -> int | None:
        """How far on each side the cells lie that a sample depends on; None: further than any window."""
        if isinstance(self.problem, Problem):
            return max(self.problem.mask_shape) - 1
        if self.problem is None:
            return 0
        window = operation_named(self.problem.operation).window
        return None if window is None else window(self.problem.parameters)

    @property
    def reached(self) -> tuple[int, int] | None:
        """The same along rows and along columns."""
        if isinstance(self.problem, Problem):
            sides = zip(self.problem.anchor, self.problem.mask_shape, strict=True)
            rows, columns = (max(before, side - 1 - before) for before, side in sides)
            return rows, columns
        return None if self.reach is None else (self.reach, self.reach)

    @property
    def border(self) -> Border:
        """The rule for the cells outside: operations repeat the nearest one."""
        return self.problem.border if isinstance(self.problem, Problem) else Border.REPLICATE

    def of_size(self, height: int, width: int) -> "PlannedStep":
        """Return the same step for a picture of another size."""
        return replace(self, problem=self.problem and self.problem.of_size(height, width))

    def refuse(self, samples: np.ndarray) -> None:
        """Refuse samples of a picture that an operation does not take."""
        if isinstance(self.problem, OperationProblem):
            operation_named(self.problem.operation).refuse(samples, self.problem.parameters)

    @property
    def cost(self) -> int:
        """Multiply-adds that the oracle spends on a sample of it."""
        if isinstance(self.problem, Problem):
            return 4 * self.problem.taps
        side = 2 * (self.reach or 0) + 1
        return 8 if isinstance(self.step, CombineStep) else 30 * side * side


Plan = tuple[PlannedStep, ...]


def last_readers(plan: Plan) -> dict[int, int]:
    """Return the last step that reads each result, by their places; -1 is the picture as float32."""
    reads = [(one, at) for at, planned in enumerate(plan) for one in planned.inputs]
    return {one: at for one, at in reads if one >= 0 or plan[at].reads_floats}


def reach_of(plan: Plan) -> Reach:
    """Return the cells that a result of the chain depends on, along its longest way.

    Each part is done as a picture of its own. What its edges within the picture make wrong lies in its halo,
    which is dropped; at the edges of the picture itself the borders of the steps hold.
    """
    reached: list[tuple[int, int]] = []
    borders: list[Border] = []
    for planned in plan:
        if planned.reached is None:
            return Reach(whole=f"step {planned.step.id} ({planned.step.title})")
        borders += [planned.border] if any(planned.reached) else []
        own, before = planned.reached, [reached[one] for one in planned.inputs if one >= 0]
        rows, columns = (own[axis] + max((one[axis] for one in before), default=0) for axis in (0, 1))
        reached.append((rows, columns))
    if (border := common_border(borders)) is None:
        far = next(one for one in plan if not is_near(one.border))
        return Reach(whole=f"step {far.step.id} with the border {far.border}")
    rows, columns = reached[-1]
    variants = [planned.variant for planned in plan]
    exact = all(one.band_invariant for one in variants if isinstance(one, Variant))
    return Reach((rows, rows), (columns, columns), border, exact=exact)


def most_between(plan: Plan) -> int:
    """Return how many pictures of float32 exist at most beside the picture and the result, on the CPU.

    A result exists until its last reader is done; an operation may take one more while it works.
    """
    last = last_readers(plan)
    alive, most = {-1} & set(last), 0
    for at, planned in enumerate(plan):
        alive |= {at} - {len(plan) - 1}
        most = max(most, len(alive) + isinstance(planned.problem, OperationProblem))
        alive -= {one for one in planned.inputs if last.get(one) == at}
    return most


@dataclass(frozen=True, slots=True, eq=False)
class ChainOperands:
    """A picture (H, W, C) with the steps that it goes through."""

    samples: np.ndarray
    plan: Plan
    layout: Layout = Layout.PITCHED
