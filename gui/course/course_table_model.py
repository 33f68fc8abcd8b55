"""A paper's table as a table model: under each of its headings what the paper printed and what this machine gives."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from engine.course.paper import Cell, CourseTable

Index = QModelIndex | QPersistentModelIndex

IS_QUIET_ROLE = Qt.ItemDataRole.UserRole

EMPTY = "–"
# Figures are shorter, "1048576 of 2097152" too; what is longer is read as a sentence.
_LONGEST_FIGURE = 24
_BIG = re.compile(r"\d{4,}")
_COUNTS = re.compile(r"\d+( of \d+)?")
_NO_PARENT = QModelIndex()
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class Side(StrEnum):
    """Whose figure a column shows; a name stands for the whole row."""

    NAME = ""
    PRINTED = "paper"
    HERE = "here"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the view: a heading of the paper's, by position, and whose figure."""

    heading: int
    side: Side


def columns_of(table: CourseTable) -> tuple[Column, ...]:
    """Return the columns of the view: the names of the rows, then a pair a heading where both sides have figures."""
    columns: list[Column] = []
    for heading in range(len(table.headings)):
        cells = [row[heading] for row in table.rows]
        has_here = any(cell.here or cell.reason for cell in cells)
        if not has_here:
            names_a_row = all(column.side is Side.NAME for column in columns)
            columns.append(Column(heading, Side.NAME if names_a_row else Side.PRINTED))
            continue
        if any(cell.printed for cell in cells):
            columns.append(Column(heading, Side.PRINTED))
        columns.append(Column(heading, Side.HERE))
    return tuple(columns)


def reasons_of(table: CourseTable) -> tuple[str, ...]:
    """Return why cells are empty, each reason once, with how many cells it is about."""
    counts: dict[str, int] = {}
    for row in table.rows:
        for cell in row:
            if not cell.here and cell.reason:
                counts[cell.reason] = counts.get(cell.reason, 0) + 1
    return tuple(
        f"{EMPTY} ({count} cell{'s' if count != 1 else ''}): {reason}" for reason, count in counts.items()
    )


class CourseTableModel(QAbstractTableModel):
    """One table of a paper."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._table: CourseTable | None = None
        self._columns: tuple[Column, ...] = ()

    @property
    def table(self) -> CourseTable | None:
        """The table that is shown."""
        return self._table

    @property
    def columns(self) -> tuple[Column, ...]:
        """What each column of the view is."""
        return self._columns

    def show(self, table: CourseTable | None) -> None:
        """Show a table, or none."""
        if table != self._table:
            self.beginResetModel()
            self._table = table
            self._columns = columns_of(table) if table else ()
            self.endResetModel()

    def heading(self, column: int) -> str:
        """Return the paper's heading over a column."""
        assert self._table is not None
        return self._table.headings[self._columns[column].heading]

    def is_words(self, column: int) -> bool:
        """Return whether a column holds names or sentences, which are read from the left, and not figures."""
        assert self._table is not None
        place = self._columns[column]
        texts = (_text(row[place.heading], place.side) for row in self._table.rows)
        return place.side is Side.NAME or any(len(text) > _LONGEST_FIGURE for text in texts)

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() or self._table is None else len(self._table.rows)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or self._table is None:
            return None
        column = self._columns[index.column()]
        cell = self._table.rows[index.row()][column.heading]
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(cell, column.side)
        if role == IS_QUIET_ROLE:
            return column.side is Side.PRINTED or (column.side is Side.HERE and not cell.here)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if self.is_words(index.column()) else _RIGHT
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tooltip(cell, column, index.row())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._tooltip(cell, column, index.row()) or _text(cell, column.side)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical or not 0 <= section < len(self._columns):
            return None
        side = self._columns[section].side
        if role == Qt.ItemDataRole.DisplayRole:
            return self.heading(section)
        if role == Qt.ItemDataRole.ToolTipRole:
            told = {Side.PRINTED: "as the paper printed it", Side.HERE: "on this machine"}.get(side)
            return f"{self.heading(section)}, {told}" if told else self.heading(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if self.is_words(section) else _RIGHT
        return None

    def _tooltip(self, cell: Cell, column: Column, row: int) -> str:
        if column.side is Side.NAME:
            return ""
        name = self._row_name(row)
        where = f"{self.heading(self._columns.index(column))}{f', {name}' if name else ''}"
        if column.side is Side.PRINTED:
            return (
                f"{where}: the paper printed {cell.printed}."
                if cell.printed
                else f"{where}: not in the paper."
            )
        if cell.here:
            return f"{where}: {_text(cell, column.side)} on this machine."
        return f"{where}: empty. {cell.reason}".rstrip()

    def _row_name(self, row: int) -> str:
        assert self._table is not None
        cells = self._table.rows[row]
        return ", ".join(
            cells[column.heading].printed for column in self._columns if column.side is Side.NAME
        )


def _text(cell: Cell, side: Side) -> str:
    if side is Side.HERE:
        return _with_separators(cell) or EMPTY
    return cell.printed


def _with_separators(cell: Cell) -> str:
    """Return this machine's side with big counts as 1,048,576, unless the paper printed this count without commas.

    Only here: a spreadsheet takes the digits alone.
    """
    # The same words stand in Markdown, where a key has its ticks.
    text = cell.here.replace("`", "")
    if not _COUNTS.fullmatch(text) or _BIG.search(cell.printed):
        return text
    return _BIG.sub(lambda found: f"{int(found[0]):,}", text)
