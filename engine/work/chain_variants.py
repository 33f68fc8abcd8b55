"""What a variant of a chain is: a kind of device, on which each step runs by its own variant. No Numba."""

from dataclasses import dataclass
from typing import Any, ClassVar

from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.run.registered import Registered
from engine.run.variant import AnyVariant
from engine.work.chain_problem import ChainProblem
from engine.work.planned import Plan

_NO_BLOCK = Block(1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVariant(AnyVariant[ChainProblem, Plan]):
    """Chains on one kind of device; its constant are the planned steps."""

    task: ClassVar[str] = ChainProblem.task

    uses_block: bool = False
    default_block: Block = _NO_BLOCK


CHAIN_VARIANTS = Registered[ChainVariant](cpu=("chain.cpu_chain",), cuda=("chain.cuda_chain",))
"""One for each kind of device: how a step is computed, its own variant says."""


def refuse_step(problem: ChainProblem, plan: Plan, block: Block, limits: Limits) -> Refusal | None:
    """Return why a step cannot be computed on a device of these limits, or None."""
    for planned in plan:
        variant: Any = planned.variant
        if variant is None:
            continue
        own = planned.block or variant.default_block
        refusal: Refusal | None = variant.why_not(planned.problem, planned.mask, own, limits)
        if refusal is not None:
            return refusal
    return None
