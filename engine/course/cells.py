"""Numbers and reasons as they stand in the cells of a paper's tables."""

import numpy as np

from engine.course.paper import Cell
from engine.course.runs import Measured


def significant(value: float, digits: int = 4) -> str:
    """Return a number with so many digits that count, never in powers of ten: 0.0001296, 50.8, 24.32."""
    if value == 0:
        return "0"
    return np.format_float_positional(value, precision=digits, unique=False, fractional=False, trim="-")


def named(*texts: str) -> tuple[Cell, ...]:
    """Return the cells that name a row."""
    return tuple(Cell(printed=text) for text in texts)


def counted(value: float, printed: str = "") -> Cell:
    """Return a cell with what was counted: whole numbers whole, others with four digits."""
    return Cell(printed, str(value) if isinstance(value, int) else significant(value))


def told(text: str, printed: str = "") -> Cell:
    """Return a cell with words for this machine."""
    return Cell(printed, text)


def missing(reason: str, printed: str = "") -> Cell:
    """Return a cell without a value here, and why."""
    return Cell(printed, "", reason)


def measured(value: float | None, fault: Measured, printed: str = "") -> Cell:
    """Return a cell with what was measured; where there is no value, with the fault's reason."""
    if value is None:
        return Cell(printed, "", fault.reason, fault.not_verified)
    return Cell(printed, significant(value))


def ratio(above: float | None, below: float | None) -> float | None:
    """Return a quotient; None where a part is missing or cannot divide."""
    return None if above is None or not below else above / below
