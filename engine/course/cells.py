"""Numbers of this machine, or the reasons why there are none, and the table cells that show them."""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from engine.course.paper import Cell, CourseTable, Figure, Paper, TableText
from engine.course.papers import TABLE_TEXTS


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, or why there is none; what is computed from a missing one is missing for the same reason.

    With `not_verified` the reason is a wrong result.
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
    """Return a number rounded to significant digits, never in powers of ten: 0.0001296, 50.8, 24.32."""
    if value == 0:
        return "0"
    return np.format_float_positional(value, precision=digits, unique=False, fractional=False, trim="-")


Value = Quantity | float | str


# The cells that name a row, and the values: numbers, or words.
Row = tuple[tuple[object, ...], Iterable[Value]]


def _cell(value: Value, printed: str) -> Cell:
    if isinstance(value, str):
        return Cell(printed, value)
    found = value if isinstance(value, Quantity) else Quantity(value)
    if found.number is None:
        return Cell(printed, "", found.reason, found.not_verified)
    return Cell(printed, str(found.number) if isinstance(found.number, int) else significant(found.number))


def course_table(
    paper: Paper, number: int, rows: Iterable[Row], *notes: str, figure: Figure | None = None
) -> CourseTable:
    """Return a paper's table of that number, counted from 0: this machine's values beside the printed ones.

    Whole numbers are counts and written in full; others have four digits. `notes` follow those in
    papers.toml.
    """
    text = TABLE_TEXTS[paper][number]
    table = tuple(_row(text, names, values) for names, values in rows)
    return CourseTable(text.title, text.headings, table, (*text.notes, *notes), figure)


def _row(text: TableText, names: tuple[object, ...], values: Iterable[Value]) -> tuple[Cell, ...]:
    words = [str(name) for name in names]
    row = ", ".join(words)
    pairs = zip_longest(values, text.printed.get(row, ()), fillvalue="")
    misprints = text.misprints.get(row, frozenset())
    cells = (
        replace(_cell(value, printed), is_misprint=position in misprints)
        for position, (value, printed) in enumerate(pairs)
    )
    return (*map(Cell, words), *cells)
