"""Whether a variant can do what is asked: the rules that are the same for all of them, then its own."""

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS


def why_not(variant: Variant, problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why a variant cannot filter that, or None.

    Parameters
    ----------
    variant : Variant
    problem : Problem
    mask : Mask
    block : Block
    limits : Limits
        Of the device.
    """
    if problem.is_quantised and not variant.quantises:
        keys = [known.key for known in VARIANTS if known.quantises and known.device is variant.device]
        return Refusal(
            f"It writes float32 results only. Choose float32 results, or for {problem.result_dtype} "
            f"one of: {', '.join(keys)}."
        )
    return variant.unsupported(problem, mask, block, limits)
