"""The look of tables and rows; a table of numbers in cells of one size, each on a colour."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QBrush, QColor, QPainter, QPalette, QPen, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from engine.results.text_forms import digits_text
from gui.style.metrics import GRID, follow_letters, number_font
from gui.style.theme import cell_background, current_theme, mixed, readable_text

Index = QModelIndex | QPersistentModelIndex
# What gives a text for a row and a column.
Texts = Callable[[int, int], str]
_CENTRE = int(Qt.AlignmentFlag.AlignCenter)
_NOTHING = QModelIndex()
_MOST_WIDTHS = 1000
Floats = NDArray[np.floating[Any]]
_MINUS = "−"
_CELL_HEIGHT = 3 * GRID
_WIDEST_CELL = 8 * GRID
# Of values that are scrolled.
_NARROWEST_CELL = 5 * GRID


def dress_table(table: QTableView, name: str) -> None:
    """Give a table its look: rows are selected whole, columns can be dragged. `name` is for screen readers.

    With a model of many columns each change of the look lays the header out again: before it, 7 ms less.
    """
    table.setFont(number_font())
    table.setProperty("dressed", True)
    table.setAccessibleName(name)
    table.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
    table.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
    table.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
    table.setTextElideMode(Qt.TextElideMode.ElideRight)
    table.setWordWrap(False)
    table.setShowGrid(False)
    table.setAlternatingRowColors(True)
    table.setTabKeyNavigation(False)
    rows, header = table.verticalHeader(), table.horizontalHeader()
    rows.hide()
    follow_letters(
        table, lambda: rows.setDefaultSectionSize(max(3 * GRID, table.fontMetrics().height() + GRID))
    )
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)


def paint_ground(painter: QPainter, option: QStyleOptionViewItem) -> tuple[QColor, QColor]:
    """Paint the ground of a row, selected or under the mouse; return the colours of its words and notes."""
    palette, state, role = option.palette, option.state, QPalette.ColorRole
    if state & QStyle.StateFlag.State_Selected:
        painter.fillRect(option.rect, palette.highlight())
        return palette.color(role.HighlightedText), palette.color(role.HighlightedText)
    if state & QStyle.StateFlag.State_MouseOver:
        painter.fillRect(option.rect, palette.color(role.Button))
    return palette.color(role.Text), palette.color(role.PlaceholderText)


LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def paint_text(
    painter: QPainter, area: QRect, words: str, colour: QColor, where: Qt.AlignmentFlag = LEFT
) -> int:
    """Write words into a rectangle, and return their width."""
    painter.setPen(colour)
    shown = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, area.width())
    painter.drawText(area, where, shown)
    return painter.fontMetrics().horizontalAdvance(shown)


class _Texts(QAbstractTableModel):
    """Texts by row and column, made when they are painted: 4,000 cells follow the mouse."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._shape = 0, 0
        self.text: Texts = lambda row, column: ""
        self._words: Texts | None = None
        self.labels: dict[Qt.Orientation, Sequence[str]] = {}
        """Those of rows and of columns."""

    def show(self, shape: tuple[int, int], text: Texts, words: Texts | None) -> None:
        is_same = shape == self._shape
        if not is_same:
            self.beginResetModel()
        self._shape, self.text, self._words = shape, text, words
        if not is_same:
            self.endResetModel()
        elif all(shape):
            self.dataChanged.emit(self.index(0, 0), self.index(shape[0] - 1, shape[1] - 1))

    def rowCount(self, parent: Index = _NOTHING) -> int:
        return 0 if parent.isValid() else self._shape[0]

    def columnCount(self, parent: Index = _NOTHING) -> int:
        return 0 if parent.isValid() else self._shape[1]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(index.row(), index.column())
        roles = Qt.ItemDataRole
        if self._words is not None and role in (roles.ToolTipRole, roles.AccessibleTextRole):
            return self._words(index.row(), index.column())
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        labels = self.labels.get(orientation, ())
        if role == Qt.ItemDataRole.DisplayRole and section < len(labels):
            return labels[section]
        return None


class NumberTable(QTableView):
    """Shows texts on the colours that `ground` gives for a row and a column, in those that `ink` gives.

    Where a text does not fit its cell, there are only colours. Of a table that is not `chosen_from`, no cell
    is the current one. Where one is, the keys choose it.
    """

    def __init__(self, name: str, *, chosen_from: bool = False) -> None:
        super().__init__()
        # The same few texts come with each move of the mouse: measuring one takes as long as drawing it.
        self._width_of = lru_cache(_MOST_WIDTHS)(lambda text: self.fontMetrics().horizontalAdvance(text))
        self.framed = QModelIndex()
        """A cell with a frame of its own."""
        self.ground: Callable[[int, int], QColor] = lambda _row, _column: QColor(current_theme().base)
        self.is_hatched: Callable[[int, int], bool] = lambda _row, _column: False
        """Which cells are hatched: those that are not what the others are."""
        self.texts = _Texts(self)
        self.setModel(self.texts)
        self.setItemDelegate(_Cells(self))
        self.setAccessibleName(name)
        self.setFont(number_font())
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setShowGrid(False)
        self.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The ground is that of the panel.
        self.viewport().setAutoFillBackground(False)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setMinimumSectionSize(1)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            header.hide()
        self.setMouseTracking(chosen_from)
        if not chosen_from:
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    @property
    def cell(self) -> tuple[int, int]:
        """Row and column of the current cell."""
        return self.currentIndex().row(), self.currentIndex().column()

    def ink(self, ground: QColor, row: int, column: int) -> QColor:
        """Return the colour of a text: one that is read on its ground."""
        return readable_text(ground, current_theme())

    def fits(self, text: str, width: int) -> bool:
        """Return whether a text has room in so many pixels."""
        return self._width_of(text) <= width

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.FontChange:
            self._width_of.cache_clear()
        super().changeEvent(event)

    def show_texts(self, texts: Sequence[Sequence[str]], words: Sequence[Sequence[str]] = ()) -> None:
        """Show texts row by row, each with its tooltip in `words`; the current cell stays."""
        shape = len(texts), len(texts[0]) if texts else 0
        tips = (lambda row, column: words[row][column]) if words else None
        self.show_cells(shape, lambda row, column: texts[row][column], tips)

    def show_cells(self, shape: tuple[int, int], text: Texts, words: Texts | None = None) -> None:
        """Show so many rows and columns, whose texts and tooltips are made when they are needed."""
        self.texts.show(shape, text, words)
        self.viewport().update()

    def set_cell_size(self, width: int, height: int) -> None:
        self.horizontalHeader().setDefaultSectionSize(width)
        self.verticalHeader().setDefaultSectionSize(height)


class _Cells(QStyledItemDelegate):
    def __init__(self, table: NumberTable) -> None:
        super().__init__(table)
        self._table = table

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, rect, table = current_theme(), option.rect, self._table
        row, column = index.row(), index.column()
        ground = table.ground(row, column)
        painter.fillRect(rect, ground)
        if table.is_hatched(row, column):
            hatch = QColor(theme.text)
            hatch.setAlphaF(0.3)
            painter.fillRect(rect, QBrush(hatch, Qt.BrushStyle.BDiagPattern))
        painter.setPen(QColor(theme.line))
        # Neighbours share a line.
        painter.drawRect(rect.adjusted(-min(column, 1), -min(row, 1), -1, -1))
        if index == table.framed:
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
        if index == table.currentIndex() and table.focusPolicy() != Qt.FocusPolicy.NoFocus:
            painter.setPen(QPen(QColor(theme.accent if table.hasFocus() else theme.outline), 2))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
        text = table.texts.text(row, column)
        if table.fits(text, rect.width() - 2):
            painter.setPen(table.ink(ground, row, column))
            painter.drawText(rect, _CENTRE, text)


def number(value: float) -> str:
    """Write a value with three digits: 0.412, −8.09, 12."""
    if abs(value) < 5e-4:
        return "0"
    return _signed(value, lambda size: digits_text(size, 2 if size < 0.1 else 3))


def short_number(value: float) -> str:
    """Write a value with two digits, for a small cell: 0.41, −8.1, 12."""
    if abs(value) < 5e-3:
        return "0"
    return _signed(value, lambda size: f"{size:.{2 if size < 1 else 1 if size < 9.95 else 0}f}")


def cell_number(value: float) -> str:
    """Write a value for a small cell, whole numbers as they are: 12, −0.41."""
    if abs(value) < 1e6 and value == round(value):
        # Of the two zeros there is one for people.
        return f"{value + 0.0:.0f}".replace("-", _MINUS)
    return short_number(value)


def _signed(value: float, write: Callable[[float], str]) -> str:
    if math.isnan(value):
        return "NaN"
    return _MINUS * (value < 0) + ("∞" if math.isinf(value) else write(abs(value)))


def table_text(values: Floats) -> str:
    """Return a window row by row, for screen readers."""
    rows = (", ".join(number(float(one)) for one in row) for row in values)
    return "; ".join(f"row {at}: {row}" for at, row in enumerate(rows, start=1))


class ValueTable(NumberTable):
    """A window or a filter in figures; `is_signed` colours by sign, else from dark to bright.

    With `most_rows` it is no higher than so many rows, and is scrolled where the values do not fit.
    """

    def __init__(self, name: str, *, is_signed: bool, most_rows: int = 0) -> None:
        super().__init__(name)
        self.is_signed = is_signed
        self.is_grey = False
        """Whether the ground has the brightness of the value, whatever the theme."""
        self.text: Callable[[float], str] = short_number
        self._most_rows = most_rows
        self._cell_width = 0
        if most_rows:
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._values: Floats = np.zeros((1, 1), np.float32)
        self._largest = 1.0
        self.ground = self._ground

    def show_values(self, values: Floats | None, largest: float) -> None:
        """Show values; `largest` has the strongest colour."""
        self.setVisible(values is not None)
        if values is not None:
            self._values, self._largest = values, largest
            self.show_cells(values.shape, lambda row, column: self.text(float(values[row, column])))
            self.setAccessibleDescription(table_text(values) if values.size < 64 else "")
            shown = min(len(values), self._most_rows or len(values))
            has_bar = bool(self._most_rows) and self.width() < values.shape[1] * _NARROWEST_CELL
            bar = self.horizontalScrollBar().sizeHint().height() if has_bar else 0
            self.setFixedHeight(shown * _CELL_HEIGHT + bar)
            self._fit()

    def sizeHint(self) -> QSize:
        return QSize(30 * GRID, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        rows, columns = self._values.shape
        is_long = 0 < self._most_rows < rows
        space = self.width() - (self.verticalScrollBar().sizeHint().width() if is_long else 0)
        least = _NARROWEST_CELL if self._most_rows else 1
        width = min(_WIDEST_CELL, max(least, space // columns))
        if width != self._cell_width:
            self._cell_width = width
            self.set_cell_size(width, _CELL_HEIGHT)

    def _ground(self, row: int, column: int) -> QColor:
        value, theme = float(self._values[row, column]), current_theme()
        if self.is_signed:
            return cell_background(value, self._largest, theme)
        # NaN is shown as 0 is, in pictures too.
        share = value / self._largest if self._largest > 0 else 0.0
        share = min(share, 1.0) if share > 0 else 0.0
        if self.is_grey:
            return QColor.fromRgbF(share, share, share)
        return mixed(QColor(theme.base), QColor(theme.text), share)
