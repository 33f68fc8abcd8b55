"""What a view of code shows, as rows: functions and diffs. No widgets in here."""

from dataclasses import dataclass
from enum import StrEnum

from engine.explain.code.code_diff import Change, Diff
from engine.explain.code.listing import SourceLine
from engine.explain.code.source import SourceFunction


class Look(StrEnum):
    """How a row is drawn."""

    CODE = "code"
    HEADING = "heading"
    REMOVED = "removed"
    ADDED = "added"
    GAP = "gap"  # lines are left out, or only the other side has one


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its text, the number of its line, and the line of the source that it is, or comes from."""

    text: str
    look: Look = Look.CODE
    number: int | None = None
    source: SourceLine | None = None


_MARKS = {Look.REMOVED: "−", Look.ADDED: "+"}
_UNIFIED = {Change.SAME: Look.CODE, Change.REMOVED: Look.REMOVED, Change.ADDED: Look.ADDED}


def number_text(row: Row) -> str:
    """Return what stands before a row: its number, and whether a side alone has it."""
    number = "" if row.number is None else str(row.number)
    return f"{number} {_MARKS[row.look]}" if row.look in _MARKS else number


def function_rows(function: SourceFunction) -> tuple[Row, ...]:
    """Return the lines of a function, each a line of the source."""
    numbered = enumerate(function.lines, start=function.first_line)
    return tuple(
        Row(line, number=number, source=SourceLine(function.path, number)) for number, line in numbered
    )


def unified_rows(diff: Diff, around: int | None) -> tuple[Row, ...]:
    """Return a diff in one column, with so many equal lines around each difference; None: all."""
    rows = []
    for line in diff.unified(around):
        number = line.left_number if line.right_number is None else line.right_number
        look = Look.GAP if number is None else _UNIFIED[line.change]
        rows.append(Row("⋯" if number is None else line.text.expandtabs(8), look, number))
    return tuple(rows)


def side_rows(diff: Diff) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return a diff in two columns of as many rows."""
    left, right = [], []
    for one in diff.rows:
        is_same = one.change is Change.SAME
        left.append(_side(one.left_number, one.left, Look.CODE if is_same else Look.REMOVED))
        right.append(_side(one.right_number, one.right, Look.CODE if is_same else Look.ADDED))
    return tuple(left), tuple(right)


def _side(number: int | None, text: str, look: Look) -> Row:
    return Row("", Look.GAP) if number is None else Row(text.expandtabs(8), look, number)
