"""The one pass of kernels that apply columns times rows: all factors in one array of constant memory."""

import numpy as np
from numpy.typing import NDArray

from engine.device.launches import Kernel, Launch, Operand, Pass
from engine.tasks.filtering.problem import Problem

Factors32 = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The columns, of shape (mask rows, rank), and the rows, (rank, mask columns)."""


def fused_pass(
    name: str,
    function: Kernel,
    problem: Problem,
    launch: Launch,
    block_rows: int,
    factors: Factors32,
    pitch: int,
    offset: float,
) -> Pass:
    """Return the pass of a kernel for a mask that is a sum of columns times rows.

    A block has `block_rows` rows of results; the launch's constant memory has room for all factors, `pitch`
    elements from one row to the next, the columns after all rows.
    """
    from numba import types

    from engine.variants.ir.cuda_code import WEIGHTS
    from engine.variants.kernel_types import image_type, result_type

    down, along = factors
    constant = np.zeros(launch.constant_bytes // 4, np.float32)
    constant[: len(along) * pitch].reshape(-1, pitch)[:, : along.shape[1]] = along
    constant[len(along) * pitch :][: down.size] = down.ravel()
    factor_type = types.Array(types.float32, 2, "C")
    numbers = (types.int64, types.int64, types.int64, types.float32, types.float32)
    signature = (image_type(problem), factor_type, factor_type, *numbers, result_type(problem))
    values = (problem.width, problem.anchor[0], block_rows)
    constants = (np.float32(problem.ghost_value), np.float32(offset))
    arguments = (Operand.IMAGE, along, down, *values, *constants, Operand.OUT)
    return Pass(name, function, signature, launch, arguments, (WEIGHTS, constant))
