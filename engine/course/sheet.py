"""A table as a sheet of text: each of the paper's columns beside the column of this machine, reasons as numbers."""

from dataclasses import dataclass

from engine.course.paper import Cell, CourseTable

PAPER, HERE = "paper", "here"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a sheet: the paper's heading, and whether it is as printed or of this machine (or "" where clear)."""

    heading: str
    part: str

    @property
    def title(self) -> str:
        """Both in one line."""
        return f"{self.heading} ({self.part})" if self.part else self.heading


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of text.

    Parameters
    ----------
    columns : tuple of Column
    rows : tuple of tuple of str
        A cell without a value but with a reason is "(1)", the number of the reason.
    reasons : tuple of str
    numbers : frozenset of int
        Columns of numbers, for aligning.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    reasons: tuple[str, ...]
    numbers: frozenset[int]


def sheet_of(table: CourseTable, *, with_marks: bool = True) -> Sheet:
    """Return a table as a sheet.

    Parameters
    ----------
    table : CourseTable
    with_marks : bool
        Whether a cell that is empty for a reason has the reason's number; else it is empty.
    """
    reasons = tuple(dict.fromkeys(cell.reason for row in table.rows for cell in row if cell.reason))
    columns: list[Column] = []
    texts: list[list[str]] = []
    numbers: set[int] = set()
    for place, heading in enumerate(table.headings):
        cells = [row[place] for row in table.rows]
        for part in _parts(cells):
            column = [_text(cell, part, reasons if with_marks else ()) for cell in cells]
            if not _names_rows(cells) and all(_is_number(text) for text in column):
                numbers.add(len(columns))
            columns.append(Column(heading, "" if _names_rows(cells) else part))
            texts.append(column)
    return Sheet(tuple(columns), tuple(zip(*texts, strict=True)), reasons, frozenset(numbers))


def _names_rows(cells: list[Cell]) -> bool:
    return not any(cell.here or cell.reason for cell in cells)


def _parts(cells: list[Cell]) -> tuple[str, ...]:
    printed = any(cell.printed for cell in cells)
    if _names_rows(cells):
        return (PAPER,)
    return (PAPER, HERE) if printed else (HERE,)


def _text(cell: Cell, part: str, reasons: tuple[str, ...]) -> str:
    if part == PAPER:
        return cell.printed
    if cell.here or cell.reason not in reasons:
        return cell.here
    return f"({reasons.index(cell.reason) + 1})"


def _is_number(text: str) -> bool:
    if not text or text.startswith("("):
        return True
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True
