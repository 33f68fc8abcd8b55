"""The passes of CUDA variants, made ready: Numba is imported when the first one is."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TypeVar

import numpy as np

from engine.device.launches import HostStep, Operand, Pass, Prepared
from engine.device.per_thread import interprets
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.work.filtering.problem import Problem

P = TypeVar("P")
C = TypeVar("C")


def interpreted(steps: Sequence[Pass | HostStep]) -> Prepared:
    """Return steps made ready for the interpreter."""
    made: Prepared = import_module("engine.device.interpreted").InterpretedPasses(steps)
    return made


def filter_arguments(problem: Problem, mask: Mask) -> tuple[object, ...]:
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
    passes: Callable[[P, C, Block], tuple[Pass, ...]],
) -> Callable[[P, C, Block], Prepared]:
    """Return the `prepare` of a variant that consists of these passes."""

    def prepare(problem: P, constant: C, block: Block) -> Prepared:
        if interprets():
            return interpreted(passes(problem, constant, block))
        from engine.device.cuda_kernels import PreparedPasses

        return PreparedPasses(passes(problem, constant, block))

    return prepare
