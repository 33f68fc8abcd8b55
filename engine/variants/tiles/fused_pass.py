"""The one pass of kernels that apply columns times rows: all factors in one array of constant memory."""

import numpy as np
from numpy.typing import NDArray

from engine.device.launches import WEIGHTS, Kernel, Launch, Operand, Pass
from engine.variants.kernel_types import filter_pass
from engine.work.filtering.problem import Problem

Factors32 = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The columns, of shape (mask rows, rank), and the rows, (rank, mask columns)."""


def fused_pass(
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
    down, along = factors
    constant = np.zeros(launch.constant_bytes // 4, np.float32)
    constant[: len(along) * pitch].reshape(-1, pitch)[:, : along.shape[1]] = along
    constant[len(along) * pitch :][: down.size] = down.ravel()
    values = (problem.width, problem.anchor[0], block_rows)
    constants = (np.float32(problem.ghost_value), np.float32(offset))
    arguments = (Operand.IMAGE, along, down, *values, *constants, Operand.OUT)
    return filter_pass(function, problem, launch, arguments, (WEIGHTS, constant))
