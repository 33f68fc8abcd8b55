"""An ablation as the engine would find it, with times that nothing was run for."""

from engine.explain.ablation_results import NO_GPU, Ablation, Altered, Cost
from engine.geometry.block import Block
from engine.results.measurement import Spread

WHOLE_MS = 0.36
# What the kernel takes without a cost.
WITHOUT_MS = {Cost.BORDER_TEST: 0.29, Cost.PICTURE_LOADS: 0.31, Cost.WEIGHT_LOADS: 0.33, Cost.STORES: 0.352}


def spread(median_ms):
    """Return 57 samples around a median."""
    return Spread(tuple(median_ms * (1 + (n - 28) / 2000) for n in range(57)))


def made_ablation(job, without_ms=None, **fields):
    """Return the answer to a job: times of a naive kernel, which has no barrier."""
    without_ms = WITHOUT_MS | (without_ms or {})
    timed = {cost: Altered(cost, kernel=spread(ms), instructions=20.0) for cost, ms in without_ms.items()}
    siblings = [timed.get(cost, Altered(cost)) for cost in Cost]
    whole = Altered(kernel=spread(WHOLE_MS), instructions=53.2)
    given = {"device": "cuda:0", "machine": "Made GPU", "whole": whole, "siblings": tuple(siblings)}
    return Ablation(job.variant, job.variant.capitalize(), job.block or Block(32, 8), **(given | fields))


def counted_ablation(job):
    """Return the answer where no GPU is: instructions for a tap."""
    found = made_ablation(job)
    siblings = [
        Altered(one.cost, instructions=53.2 * one.kernel.median_ms / WHOLE_MS) if one.kernel else one
        for one in found.siblings
    ]
    there = {"whole": Altered(instructions=found.whole.instructions), "siblings": tuple(siblings)}
    return made_ablation(job, device="", machine="sm_90", reason=NO_GPU, **there)
