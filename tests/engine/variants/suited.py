"""What a general case becomes for a variant that takes only a part of all masks or blocks, by its documented rules.

A variant that is not named here takes every case as it is. What remains impossible (a tile that fits no shared memory)
is left out by name of its refusal, never by trying.
"""

from dataclasses import replace

import numpy as np

from engine.device.launches import DeviceKind
from engine.geometry.block import Block, Limits
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering.problem import Problem
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS
from tests.engine.variants.case_lists import simulator_cases
from tests.engine.variants.cases import Case

LIMITS = Limits()
MOST_SIDES = {
    "register-blocked": (31, 31),
    "separable-fused": (63, 63),
    "low-rank-2": (33, 63),
    "low-rank-3": (33, 63),
}
MOST_CELLS = {"digit-sums": 128}
LEAST_SIDES = {"low-rank-2": 6, "low-rank-3": 8, "split-float16": 7}
"""Both sides of the smallest mask for which so many columns times rows are worth it, or that is granted enough roundings."""


def has_kernels(variant: Variant) -> bool:
    """Return whether a variant is CUDA kernels of ours, which can be simulated, counted and compiled without a device."""
    return variant.device is DeviceKind.CUDA and not variant.library


def typed(variant: Variant, problem: Problem) -> Problem:
    """Return the problem with samples and results of types, and channels, that the variant takes."""
    if variant.key == "split-float16":
        return replace(problem, dtype="float32", channels=1)
    return replace(problem, dtype="uint8", result_dtype="uint8") if variant.uint8_only else problem


def suited(variant: Variant, case: Case) -> Case | None:
    """Return the case as the variant can take it; None where it takes no such mask."""
    if variant.uint8_only:
        # Ghost cells are bytes too.
        cval = float(round(abs(case.cval)) % 256)
        case = replace(case, dtype="uint8", pixels="even", cval=cval, is_quantised=True)
    if case.mask_shape[0] * case.mask_shape[1] > MOST_CELLS.get(variant.key, 127 * 127):
        return None
    if variant.key.startswith(("separable", "cpu-separable")):
        case = replace(case, weights=f"rank 1 {case.weights}")
    if variant.key == "split-float16":
        if max(case.mask_shape) > 17:
            return None
        shape = _at_least(variant, *case.mask_shape)
        # Weights of few digits are refused.
        weights = case.weights if case.weights == "holes" else "even"
        case = replace(case, mask_shape=shape, dtype="float32", channels=1, weights=weights)
    elif variant.key in LEAST_SIDES:
        # Rounded factors are refused where sums of few digits are exact, and where the mask is too small to gain by them.
        case = replace(
            case, weights=f"rank {variant.key[-1]} even", mask_shape=_at_least(variant, *case.mask_shape)
        )
    if variant.key in ("box", "cpu-box"):
        case = replace(case, weights=f"equal {case.weights}")
    if variant.finite_only and case.pixels == "strange":
        return None
    if case.is_quantised and not variant.integer_output:
        return None
    if variant.key.startswith("row"):
        rows, columns = case.mask_shape
        taps = max(rows, columns) if min(rows, columns) == 1 else columns
        anchor = None if case.anchor is None else (0, case.anchor[1])
        case = replace(case, mask_shape=(1, taps), anchor=anchor)
    if variant.key == "tiled-input":
        # Its block covers the input tile: made so much larger, its output tile is what the case calls the block.
        rows, columns = case.mask_shape
        case = replace(case, block=Block(case.block.x + columns - 1, case.block.y + rows - 1))
    most_rows, most_columns = MOST_SIDES.get(variant.key, (127, 127))
    if case.mask_shape[0] > most_rows or case.mask_shape[1] > most_columns:
        return None
    refusal = variant.unsupported(case.problem(), case.mask(), case.block, LIMITS)
    if refusal is None:
        return case
    assert any(word in refusal.reason for word in ("block", "shared memory", "registers")), refusal.reason
    return None if refusal.nearest_block is None else replace(case, block=refusal.nearest_block)


def suited_cases(variant: Variant, cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """Return the cases as the variant can take them.

    One in four for the code of low-rank-2 with one product more, one in three where most of them become the same sort.
    """
    cases = cases[:: {"low-rank-3": 4, "split-float16": 3}.get(variant.key, 1)]
    return tuple(found for case in cases if (found := suited(variant, case)) is not None)


def cases_in_simulator(variant: Variant) -> tuple[Case, ...]:
    """Return the cases of a CUDA variant that are affordable in the simulator; threads and barriers cost there."""
    problem = describe_problem(np.zeros((1, 1, 1), np.float32), mask_for(variant, 1, 1), "zero", 0.0)
    has_barrier = any(launch.shared_bytes for launch in variant.plan(problem, variant.default_block))
    cases = suited_cases(variant, simulator_cases(whole=variant.key == "naive", has_barrier=has_barrier))
    # 0.6 s a case: 40 s in all.
    takes_long = variant.key in ("digit-sums", "box")
    if variant.key == "naive" or not (variant.uses_block or takes_long):
        return cases
    # Every second one of these and of the course's kernels, of neighbours not the same ones; devices get all of them.
    return cases[VARIANTS.index(variant) % 2 :: 2]


def mask_for(variant: Variant, rows: int, columns: int) -> Mask:
    """Return a mask of that shape that the variant takes: of rank 1, and of one row for 1-D variants.

    A sum of products is a larger one where such a small one is not worth it, or is not granted enough roundings.
    """
    if variant.key.startswith("row"):
        return Mask(np.ones((1, columns)))
    if variant.key in LEAST_SIDES:
        shape = _at_least(variant, rows, columns)
        if variant.key == "split-float16":
            return Case("mask", mask_shape=shape).mask()
        return Case("mask", mask_shape=shape, weights=f"rank {variant.key[-1]} even").mask()
    return Mask(np.ones((rows, columns)))


def _at_least(variant: Variant, rows: int, columns: int) -> tuple[int, int]:
    least = LEAST_SIDES[variant.key]
    return max(rows, least), max(columns, least)


def block_for(variant: Variant, mask: Mask, block: Block) -> Block:
    """Return the block, or the nearest one that the variant can use with the mask."""
    problem = typed(variant, describe_problem(np.zeros((9, 9, 1), np.float32), mask, "zero", 0.0))
    refusal = variant.unsupported(problem, mask, block, LIMITS)
    if refusal is None:
        return block
    assert refusal.nearest_block is not None, refusal.reason
    return refusal.nearest_block
