"""What the ways to compress share: grids over whole blocks of 8 x 8, and the arguments of a kernel."""

from typing import Any

import numpy as np

from engine.device.result_rules import WHOLE_NUMBERS_ONLY
from engine.work.operations.compress import basis, filled, middle_of, steps_of
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem

WHOLE = WHOLE_NUMBERS_ONLY  # added and subtracted, it rounds magnitudes below 2^22


def filled_shape(problem: OperationProblem) -> tuple[int, int]:
    """Return rows and columns of the coefficients: multiples of 8."""
    return filled(problem.height), filled(problem.width)


def coefficients(problem: OperationProblem) -> tuple[int, int, int]:
    """Return rows, columns and layers of a thread per coefficient."""
    return *filled_shape(problem), problem.channels


def samples_of(problem: OperationProblem) -> int:
    """Return the coefficients of all channels."""
    rows, columns = filled_shape(problem)
    return rows * columns * problem.channels


def tables(problem: OperationProblem) -> tuple[np.ndarray, np.ndarray, np.float32]:
    """Return cosines, steps of quantisation, and middle grey."""
    return basis(), steps_of(problem), middle_of(problem)


def dct_arguments(problem: OperationProblem, patch: Patch | None) -> tuple[Any, ...]:
    """Return the arguments of a kernel: the tables, the width, and the columns of the coefficients."""
    return *tables(problem), problem.width, filled(problem.width)
