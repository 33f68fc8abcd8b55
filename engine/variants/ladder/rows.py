"""What the 1-D variants share: the arguments of their kernels, and which masks they refuse."""

from typing import Any

import numpy as np
from numba import types

from engine.device.cuda_kernels import image_type, result_type
from engine.device.launches import Operand
from engine.geometry.block_rules import Refusal
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem


def row_signature(problem: Problem) -> tuple[Any, ...]:
    """Return the argument types of a 1-D kernel, those of `row_arguments`."""
    weights = types.Array(types.float32, 1, "C")
    numbers = (types.int64, types.int64, types.float32, types.float32)
    return (image_type(problem), weights, *numbers, result_type(problem))


def row_arguments(problem: Problem, mask: Mask) -> tuple[Any, ...]:
    """Return the arguments of a 1-D kernel: image, weights (1-D), width, anchor column, ghost value, offset, out."""
    return (
        Operand.IMAGE,
        mask.weights32[0],
        problem.width,
        problem.anchor[1],
        np.float32(problem.ghost_value),
        np.float32(mask.offset),
        Operand.OUT,
    )


def refuse_mask(mask: Mask, wider_key: str) -> Refusal | None:
    """Return why a mask is none for a 1-D variant, or None.

    Parameters
    ----------
    mask : Mask
    wider_key : str
        Key of the 2-D variant that does the same with any mask, for the remedy.
    """
    if mask.rows == 1:
        return None
    return Refusal(
        f"A 1-D kernel takes a mask of one row, and this one has {mask.rows}. Take a mask of one row, or "
        f"{wider_key}, which does the same with a mask of several rows."
    )
