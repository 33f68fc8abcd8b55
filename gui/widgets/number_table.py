"""A table of numbers in cells of one size, each on a colour; cells are chosen by mouse or arrow keys."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from gui.style.cell_colours import readable_text
from gui.style.metrics import number_font
from gui.style.theme import current_theme


class NumberTable(QTableView):
    """Shows texts on the colours that `ground` gives for a row and a column, in those that `ink` gives.

    Where a text does not fit its cell, there are only colours. Of a table that is not `chosen_from`, no cell
    is the current one. Where one is, it follows the mouse, unless it is to be chosen by the keys alone.
    """

    def __init__(self, name: str, *, chosen_from: bool = False, by_mouse: bool = True) -> None:
        super().__init__()
        self.framed = QModelIndex()
        """A cell with a frame of its own."""
        self.ground: Callable[[int, int], QColor] = lambda _row, _column: QColor(current_theme().base)
        self.texts = QStandardItemModel(self)
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
        if chosen_from and by_mouse:
            self.entered.connect(self.setCurrentIndex)
        if not chosen_from:
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    @property
    def cell(self) -> tuple[int, int]:
        """Row and column of the current cell."""
        return self.currentIndex().row(), self.currentIndex().column()

    def ink(self, row: int, column: int) -> QColor:
        """Return the colour of a text: one that is read on its ground."""
        return readable_text(self.ground(row, column), current_theme())

    def show_texts(self, texts: Sequence[Sequence[str]], words: Sequence[Sequence[str]] = ()) -> None:
        """Show texts row by row, each with its tooltip in `words`; the current cell stays."""
        self.texts.setRowCount(len(texts))
        self.texts.setColumnCount(len(texts[0]) if texts else 0)
        for row, line in enumerate(texts):
            for column, text in enumerate(line):
                item = QStandardItem(text)
                if words:
                    item.setToolTip(words[row][column])
                    item.setAccessibleText(words[row][column])
                self.texts.setItem(row, column, item)
        self.viewport().update()

    def set_cell_size(self, width: int, height: int) -> None:
        """Give all cells a size."""
        self.horizontalHeader().setDefaultSectionSize(width)
        self.verticalHeader().setDefaultSectionSize(height)

    @property
    def cells_size(self) -> QSize:
        """The size of all cells together."""
        return QSize(self.horizontalHeader().length(), self.verticalHeader().length())


class _Cells(QStyledItemDelegate):
    def __init__(self, table: NumberTable) -> None:
        super().__init__(table)
        self._table = table

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme, rect, table = current_theme(), option.rect, self._table
        ground = table.ground(index.row(), index.column())
        painter.fillRect(rect, ground)
        painter.setPen(QColor(theme.line))
        # Neighbours share a line.
        painter.drawRect(rect.adjusted(-min(index.column(), 1), -min(index.row(), 1), -1, -1))
        if index == table.framed:
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
        if index == table.currentIndex() and table.focusPolicy() != Qt.FocusPolicy.NoFocus:
            painter.setPen(QPen(QColor(theme.accent if table.hasFocus() else theme.outline), 2))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
        text = index.data()
        if option.fontMetrics.horizontalAdvance(text) <= rect.width() - 2:
            painter.setPen(table.ink(index.row(), index.column()))
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignCenter), text)
