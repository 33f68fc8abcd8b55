"""Whether a variant can do what is asked; a reason may name other variants of the registry."""

from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS


def why_not(variant: Variant, problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why a variant cannot filter that within the limits of a device, or None."""
    return variant.why_not(problem, mask, block, limits, VARIANTS)
