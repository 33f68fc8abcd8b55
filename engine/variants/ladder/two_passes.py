"""What the ladder's separable variants share: a horizontal and a vertical pass (`tiles.separable`)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.device.launches import Kernel, Launch, Operand, Pass
from engine.geometry.block import Block, Limits, Refusal
from engine.mask.mask import Mask
from engine.variants.kernel_types import filter_pass
from engine.variants.ladder.teaching import teaching_variant
from engine.variants.tiles.geometry import one_launch, refuse_launch
from engine.variants.tiles.separable import (
    RANK_1,
    ghost_row_value,
    order_of_factors,
    refuse_mask,
    required_factors,
)
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import Variant


def two_pass_variant(
    kernels_of: Callable[[Problem, Block], tuple[Kernel, Kernel]],
    shared_bytes: Callable[[tuple[int, int], Block], tuple[int, int]] = lambda mask_shape, block: (0, 0),
    **traits: Any,
) -> Variant:
    """Return the variant of a horizontal and a vertical kernel, each with one thread per result.

    `shared_bytes` says, for a mask shape and a block, how much static shared memory a block uses in either
    pass.
    """

    def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
        horizontal, vertical = shared_bytes(problem.mask_shape, block)
        return one_launch(problem, block, horizontal) + one_launch(problem, block, vertical)

    def refuse(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
        def larger(candidate: Block) -> int:
            return max(shared_bytes(problem.mask_shape, candidate))

        return refuse_mask(mask) or refuse_launch(problem, mask, block, limits, larger)

    def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
        return two_passes(problem, mask, plan(problem, block), *kernels_of(problem, block))

    return teaching_variant(
        passes,
        plan=plan,
        unsupported=refuse,
        sum_order=order_of_factors,
        **RANK_1,
        **traits,
    )


def two_passes(
    problem: Problem, mask: Mask, launches: tuple[Launch, ...], horizontal: Kernel, vertical: Kernel
) -> tuple[Pass, ...]:
    """Return the two passes; raise UnsupportedVariant for a mask that is not one column times one row.

    `horizontal` takes (image, factor, width, anchor, ghost_value, scratch), `vertical` takes
    (scratch, factor, width, anchor, ghost_value, offset, out).
    """
    factors = required_factors(mask)
    ghosts, ghost_row = np.float32(problem.ghost_value), ghost_row_value(problem, factors)
    row_numbers = (problem.width, problem.anchor[1], ghosts)
    column_numbers = (problem.width, problem.anchor[0], ghost_row, np.float32(mask.offset))
    along = (Operand.IMAGE, factors.row, *row_numbers, Operand.SCRATCH)
    down = (Operand.SCRATCH, factors.column, *column_numbers, Operand.OUT)
    return (
        filter_pass(horizontal, problem, launches[0], along),
        filter_pass(vertical, problem, launches[1], down),
    )
