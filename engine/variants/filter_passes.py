"""The passes of CUDA variants, made ready: Numba is imported when the first one is."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.device.launches import Operand, Pass, Prepared
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem


def filter_arguments(problem: Problem, mask: Mask) -> tuple[Any, ...]:
    """Return the arguments of a filter kernel: image, weights, width, anchor, ghost value, offset, out.

    The width is an argument of its own, because rows on the device may be padded: one compiled kernel serves
    both layouts.
    """
    return (
        Operand.IMAGE,
        mask.weights32,
        problem.width,
        *problem.anchor,
        np.float32(problem.ghost_value),
        np.float32(mask.offset),
        Operand.OUT,
    )


def prepare_passes(
    passes: Callable[[Problem, Mask, Block], tuple[Pass, ...]],
) -> Callable[[Problem, Mask, Block], Prepared]:
    """Return the `prepare` of a variant that consists of these passes."""

    def prepare(problem: Problem, mask: Mask, block: Block) -> Prepared:
        from engine.device.cuda_kernels import PreparedPasses

        return PreparedPasses(passes(problem, mask, block))

    return prepare
