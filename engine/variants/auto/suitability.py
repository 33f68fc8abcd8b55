"""Whether a variant can do what is asked: the rules that are the same for all of them, then its own."""

from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
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
    if problem.is_quantised and not variant.integer_output:
        keys = [
            known.key
            for known in VARIANTS
            if known.integer_output and known.device is variant.device and _takes_types(known, problem)
        ]
        return Refusal(
            f"It writes float32 results only. Choose float32 results, or for {problem.result_dtype} "
            f"one of: {', '.join(keys)}."
        )
    if not _takes_types(variant, problem):
        return Refusal(
            f"It takes 8-bit pictures and gives 8-bit results only, not {problem.dtype} with {problem.result_dtype} results. "
            "Choose results of the picture's own type for an 8-bit picture, or use register-blocked."
        )
    return variant.unsupported(problem, mask, block, limits)


def _takes_types(variant: Variant, problem: Problem) -> bool:
    return not variant.uint8_only or (problem.dtype, problem.result_dtype) == ("uint8", "uint8")
