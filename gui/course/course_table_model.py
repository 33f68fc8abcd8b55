"""A paper's table as an item model: under each heading what the paper printed and what this machine gives."""

import math
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel

from engine.course.paper import MISPRINT, Cell, CourseTable
from engine.course.sheet import Column, Part, columns_of

IS_QUIET_ROLE, IS_RECORDED_ROLE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
EXCERPT_ROLE = Qt.ItemDataRole.UserRole + 2

EMPTY = "–"
# Figures are shorter, "1048576 of 2097152" too; what is longer is read as a sentence.
_LONGEST_FIGURE = 24
_BIG = re.compile(r"\d{4,}")
_COUNTS = re.compile(r"\d+( of \d+)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_UNITS = ("s", "ms", "µs", "ns")
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def reasons_of(table: CourseTable) -> tuple[str, ...]:
    """Return why cells are empty: each reason once, with its number of cells."""
    reasons = Counter(cell.reason for row in table.rows for cell in row if cell.reason and not cell.here)
    return tuple(
        f"{EMPTY} ({count} cell{'s' if count != 1 else ''}): {reason}" for reason, count in reasons.items()
    )


class CourseTableModel(QStandardItemModel):
    """One table of a paper; `columns` are those of the view."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns: tuple[Column, ...] = ()
        self._table: CourseTable | None = None

    def show(self, table: CourseTable | None) -> None:
        """Show a table, or none."""
        if table == self._table:
            return
        self._table = table
        table = table and _in_short_units(table)
        # The back quotes of keys are for Markdown.
        columns = columns_of(table) if table else ()
        self.columns = tuple(replace(one, heading=one.heading.replace("`", "")) for one in columns)
        self.clear()
        for index, column in enumerate(self.columns):
            cells = [row[column.position] for row in table.rows] if table else []
            # As the paper has them in this column: 1,048,576 unless it printed such counts without commas.
            has_commas = not any(_BIG.search(cell.printed) for cell in cells)
            items = [_item(cell, column, self._row_name(row), has_commas) for row, cell in enumerate(cells)]
            is_code = bool(table and table.excerpts) and column == self.columns[-1]
            if table and is_code:
                for item, of_row in zip(items, table.excerpts, strict=True):
                    # Kernels, files and lines are in the tooltip, and above the code itself.
                    item.setText("\n".join(dict.fromkeys(one.code.partition(":")[0] for one in of_row)))
                    item.setData(of_row[0] if of_row else None, EXCERPT_ROLE)
                    places = (f"{one.code}: {one.where}" for one in of_row)
                    item.setToolTip("\n".join((*places, "A click or Enter shows the code.")))
            header = QStandardItem(column.heading)
            whose = {
                Part.PAPER: ", as the paper printed it",
                Part.HERE: ", on this machine",
                Part.RECORDED: ", recorded on another machine: the note below names it",
            }
            header.setToolTip(column.heading + whose.get(column.part, ""))
            # Names and sentences are read from the left, figures from the right.
            is_words = column.part is Part.NAME or is_code
            texts = [item.text() for item in items if item.text() != EMPTY]
            is_words = is_words or any(len(text) > _LONGEST_FIGURE for text in texts)
            is_words = is_words or (bool(texts) and not any(map(_has_digit, texts)))
            for item in (header, *items):
                item.setTextAlignment(_LEFT if is_words else _RIGHT)
            self.appendColumn(items)
            self.setHorizontalHeaderItem(index, header)

    def is_words(self, column: int) -> bool:
        """Return whether a column holds names or sentences, and not figures."""
        return bool(self.horizontalHeaderItem(column).textAlignment() & Qt.AlignmentFlag.AlignLeft)

    def _row_name(self, row: int) -> str:
        cells = self._table.rows[row] if self._table else ()
        return ", ".join(cells[one.position].printed for one in self.columns if one.part is Part.NAME)


def _in_short_units(table: CourseTable) -> CourseTable:
    """Return a table whose headings in seconds have a unit that the shortest of their times has one of.

    The paper's digits stay, without the zeros before them, and are compared with the others at a glance.
    """
    headings, columns = list(table.headings), list(zip(*table.rows, strict=True))
    for at, cells in enumerate(columns):
        texts = [text for cell in cells for text in (cell.printed, cell.here, cell.recorded) if text]
        is_time = headings[at].endswith("(s)") and all(map(_NUMBER.fullmatch, texts))
        if is_time and (times := [abs(float(text)) for text in texts if float(text)]):
            thousands = min(max(math.ceil(-math.log10(min(times)) / 3), 0), len(_UNITS) - 1)
            headings[at] = f"{headings[at].removesuffix('(s)')}({_UNITS[thousands]})"
            columns[at] = tuple(_moved(cell, 3 * thousands) for cell in cells)
    return replace(table, headings=tuple(headings), rows=tuple(zip(*columns, strict=True)))


def _moved(cell: Cell, digits: int) -> Cell:
    """Return a cell of numbers, each with its point so many digits further right."""
    texts = cell.printed, cell.here, cell.recorded
    printed, here, recorded = (text and f"{Decimal(text).scaleb(digits):f}" for text in texts)
    return replace(cell, printed=printed, here=here, recorded=recorded)


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _item(cell: Cell, column: Column, row_name: str, has_commas: bool) -> QStandardItem:
    figure = _plain(cell.recorded if column.part is Part.RECORDED else cell.here)
    figure = _with_separators(figure) if has_commas else figure
    text = figure or EMPTY if column.part in (Part.HERE, Part.RECORDED) else cell.marked
    item = QStandardItem(text)
    item.setData(column.part is Part.PAPER or text == EMPTY, IS_QUIET_ROLE)
    item.setData(column.part is Part.RECORDED, IS_RECORDED_ROLE)
    if column.part is Part.NAME:
        item.setAccessibleText(text)
        return item
    where = ", ".join(filter(None, (column.heading, row_name)))
    if column.part is Part.PAPER:
        found = f"the paper printed {cell.printed}." if text else "not in the paper."
        if cell.is_misprint:
            found += f" A misprint: the note below that begins with {MISPRINT} says what is right."
    elif column.part is Part.RECORDED:
        found = f"{text}, recorded on another machine." if cell.recorded else "not recorded."
    else:
        found = f"{text} on this machine." if cell.here else f"empty. {cell.reason}".rstrip()
    item.setToolTip(f"{where}: {found}")
    item.setAccessibleText(f"{where}: {found}")
    return item


def _plain(figure: str) -> str:
    # The back quotes of keys are for Markdown.
    return figure.replace("`", "")


def _with_separators(text: str) -> str:
    """Return a figure, big counts as 1,048,576; a spreadsheet takes the digits alone."""
    if not _COUNTS.fullmatch(text):
        return text
    return _BIG.sub(lambda found: f"{int(found[0]):,}", text)
