"""How well the result of a chain agrees with its float64 oracle, by the range through all its steps."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engine.verify.inputs import Inputs
from engine.verify.regions import LEAST_STEP, Region, affordable_regions
from engine.verify.verification import Verification, kept, verify_regions
from engine.work.chain_oracle import ChainOracle
from engine.work.chain_problem import ChainProblem
from engine.work.operands import Operands
from engine.work.operations.cells import Range
from engine.work.planned import Plan

# The oracle makes some 0.3 G multiply-adds per second: 1 s, or less.
AFFORDABLE_MULTIPLY_ADDS = 250_000_000
# Pixels that are compared at once, of whole parts and of pixels apart, which need a window each: of 2048 of
# these the oracle of `bright-spots` takes 58 MB, of 512 it takes 11.
_TOGETHER, _APART = 1 << 16, 1 << 9


def verify(
    values: np.ndarray,
    operands: Operands[Plan],
    problem: ChainProblem,
    seed: int = 0,
    affordable: int | None = None,
    checkpoint: Callable[[float], None] = lambda fraction: None,
) -> Verification:
    """Compare a result (H, W, C), float32, with the oracle; parameters as of `engine.work.filtering`."""
    oracle = ChainOracle(operands.samples, operands.constant)
    regions = _regions(operands, problem, seed, affordable)
    undecided = jumped = 0

    @kept
    def found(band: Region) -> Range:
        nonlocal undecided, jumped
        rows, columns = (np.array(along, dtype=np.intp) for along in band.ranges)
        computed = oracle.results(rows, columns)
        undecided, jumped = undecided + computed.undecided, jumped + computed.jumped
        return computed.range

    reach = sum(planned.reach or 0 for planned in operands.constant)
    kind = operands.samples.dtype
    white = 1.0 if kind.kind == "f" else float(np.iinfo(kind).max)
    jump = white if any(planned.jumps for planned in operands.constant) else 0.0
    inputs = Inputs(operands.samples, (reach, reach), (reach, reach), jump=jump, has_sums=False)
    pixels = _TOGETHER if all(region.step == 1 for region in regions) else _APART
    proof = verify_regions(
        values,
        regions,
        pixels,
        lambda band: found(band).value,
        lambda band: found(band).limits,
        checkpoint,
        inputs,
    )
    proof = replace(proof, undecided=undecided)
    if proof.passed and 2 * undecided > jumped:
        why = f"{undecided:,} of {jumped:,} samples lie within rounding of a jump"
        reason = f"not verified: nothing is proven where {why}"
        return replace(proof, passed=False, reason=reason, unproven_samples=undecided)
    return proof


def _regions(
    operands: Operands[Plan], problem: ChainProblem, seed: int, affordable: int | None
) -> tuple[Region, ...]:
    """Return the whole result where the oracle can afford it, else its edges and a grid of pixels."""
    affordable = AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable
    plan, channels = operands.constant, problem.channels
    # What one pixel alone needs of each step: the window of all that come after.
    after = [0] * len(plan)
    for at in range(len(plan) - 1, -1, -1):
        for input_ in plan[at].inputs:
            if input_ >= 0:
                after[input_] = max(after[input_], after[at] + (plan[at].reach or 0))
    together = channels * sum(planned.cost for planned in plan)
    apart = channels * sum(
        planned.cost * min(LEAST_STEP, 2 * reach + 1) ** 2 for planned, reach in zip(plan, after, strict=True)
    )
    if problem.height * problem.width * together <= affordable:
        return (Region(0, problem.height, 0, problem.width),)
    reach = max(3, min(16, max(one + (planned.reach or 0) for planned, one in zip(plan, after, strict=True))))
    return affordable_regions(
        problem.height, problem.width, (reach, reach), max(together, apart), affordable, seed
    )
