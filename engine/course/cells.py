"""Numbers of this machine, or the reasons why there are none, and the table cells that show them."""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from engine.course.paper import Cell, CourseTable, Figure, Paper


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, or why there is none; what is computed from a missing one is missing for the same reason.

    `not_verified` tells that the reason is a result that is wrong.
    """

    number: float | None = None
    reason: str = ""
    not_verified: bool = False

    def __add__(self, other: "Quantity | float") -> "Quantity":
        return _computed(operator.add, self, other)

    def __sub__(self, other: "Quantity | float") -> "Quantity":
        return _computed(operator.sub, self, other)

    def __mul__(self, other: "Quantity | float") -> "Quantity":
        return _computed(operator.mul, self, other)

    def __truediv__(self, other: "Quantity | float") -> "Quantity":
        return _computed(operator.truediv, self, other)

    def __rtruediv__(self, other: float) -> "Quantity":
        return _computed(operator.truediv, other, self)


def _computed(operation: Callable[[float, float], float], *parts: Quantity | float) -> Quantity:
    left, right = (part if isinstance(part, Quantity) else Quantity(part) for part in parts)
    if left.number is None or right.number is None:
        return next((part for part in (left, right) if part.reason), Quantity())
    try:
        return Quantity(operation(left.number, right.number))
    except ZeroDivisionError:
        return Quantity()


def significant(value: float, digits: int = 4) -> str:
    """Return a number with so many significant digits, never in powers of ten: 0.0001296, 50.8, 24.32."""
    if value == 0:
        return "0"
    return np.format_float_positional(value, precision=digits, unique=False, fractional=False, trim="-")


Value = Quantity | float | str


def row(names: Iterable[object], values: Iterable[Value], printed: Iterable[str] = ()) -> tuple[Cell, ...]:
    """Return a row: cells that name it, then this machine's values (words, numbers) beside the printed ones.

    Whole numbers are counted and written in full; others have four digits.
    """
    pairs = zip_longest(values, printed, fillvalue="")
    return (*(Cell(str(name)) for name in names), *(_cell(value, text) for value, text in pairs))


def _cell(value: Value, printed: str) -> Cell:
    if isinstance(value, str):
        return Cell(printed, value)
    found = value if isinstance(value, Quantity) else Quantity(value)
    if found.number is None:
        return Cell(printed, "", found.reason, found.not_verified)
    return Cell(printed, str(found.number) if isinstance(found.number, int) else significant(found.number))


def course_table(
    paper: Paper,
    number: int,
    headings: str,
    rows: Iterable[tuple[Cell, ...]],
    *notes: str,
    figure: Figure | None = None,
) -> CourseTable:
    """Return a paper's table of that number, counted from 0; bars separate its headings."""
    return CourseTable(paper.tables[number], tuple(headings.split(" | ")), tuple(rows), notes, figure)
