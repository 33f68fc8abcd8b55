"""The one pass of `separable-fused`, whichever way its blocks go: both factors in one array of constant memory."""

from typing import Any

import numpy as np
from numba import types

from engine.device.cuda_kernels import image_type, result_type
from engine.device.launches import Launch, Operand, Pass
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.ir.cuda_code import WEIGHTS


def fused_pass(
    name: str, function: Any, problem: Problem, mask: Mask, launch: Launch, rows: int, column_at: int
) -> Pass:
    """Return the pass for a mask that is one column times one row.

    Parameters
    ----------
    name : str
    function : kernel
    problem : Problem
    mask : Mask
    launch : Launch
        Whose constant memory has room for both factors.
    rows : int
        Rows of results of a block.
    column_at : int
        Where the column's weights begin, after the row's.
    """
    factors = factor(mask)
    along = np.asarray(factors.row, np.float32).reshape(1, -1)
    down = np.asarray(factors.column, np.float32).reshape(-1, 1)
    constant = np.zeros(launch.constant_bytes // 4, np.float32)
    constant[: along.size] = along.ravel()
    constant[column_at:][: down.size] = down.ravel()
    factor_type = types.Array(types.float32, 2, "C")
    numbers = (types.int64, types.int64, types.int64, types.float32, types.float32)
    signature = (image_type(problem), factor_type, factor_type, *numbers, result_type(problem))
    values = (problem.width, problem.anchor[0], rows)
    constants = (np.float32(problem.ghost_value), np.float32(mask.offset))
    arguments = (Operand.IMAGE, along, down, *values, *constants, Operand.OUT)
    return Pass(name, function, signature, launch, arguments, (WEIGHTS, constant))
