"""A table of numbers in cells of one size, each on a colour; cells are chosen by mouse or arrow keys."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from gui.style.cell_colours import readable_text
from gui.style.metrics import number_font
from gui.style.theme import current_theme


class NumberTable(QTableView):
    """Shows texts on the colours that `ground` gives for a row and a column.

    Where a text does not fit its cell, there are only colours. Of a table that is not `chosen_from`, no cell
    is the current one.
    """

    def __init__(self, name: str, *, chosen_from: bool = False) -> None:
        super().__init__()
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
        if chosen_from:
            self.setMouseTracking(True)
            self.entered.connect(self.setCurrentIndex)
        else:
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    @property
    def cell(self) -> tuple[int, int]:
        """Row and column of the current cell."""
        return self.currentIndex().row(), self.currentIndex().column()

    def show_texts(self, texts: Sequence[Sequence[str]]) -> None:
        """Show texts row by row; the current cell stays."""
        self.texts.setRowCount(len(texts))
        self.texts.setColumnCount(len(texts[0]))
        for row, line in enumerate(texts):
            for column, text in enumerate(line):
                self.texts.setItem(row, column, QStandardItem(text))
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
        if index == table.currentIndex() and table.focusPolicy() != Qt.FocusPolicy.NoFocus:
            painter.setPen(QPen(QColor(theme.accent if table.hasFocus() else theme.outline), 2))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
        text = index.data()
        if option.fontMetrics.horizontalAdvance(text) <= rect.width() - 2:
            painter.setPen(readable_text(ground, theme))
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignCenter), text)
