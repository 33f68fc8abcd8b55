"""One table of a paper: the printed figures quiet, this machine's beside them."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from engine.course.paper import CourseTable
from gui.panels.course.table_header import PairedHeader
from gui.state.course_table_model import IS_QUIET_ROLE, CourseTableModel
from gui.style.metrics import GRID, number_font
from gui.style.theme import current_theme, theme_notifier

# A text in a cell may be a sentence; it is cut with … and whole in the tooltip.
_WIDEST = 40 * GRID
_NARROWEST = 8 * GRID


class _Cells(QStyledItemDelegate):
    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        theme = current_theme()
        colour = QColor(theme.muted if index.data(IS_QUIET_ROLE) else theme.text)
        option.palette.setColor(QPalette.ColorRole.Text, colour)
        option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)
        option.palette.setColor(QPalette.ColorRole.Highlight, QColor(theme.raised))


class CourseTableView(QTableView):
    """Shows a CourseTable; arrow keys go from cell to cell, the tooltip says more of each."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cells = CourseTableModel(self)
        self.setModel(self.cells)
        self.setItemDelegate(_Cells(self))
        self.header = PairedHeader(self.cells, self)
        self.setHorizontalHeader(self.header)
        self.setFont(number_font())
        self.setStyleSheet(f"QTableView::item {{ padding: 0 {GRID - 3}px; }}")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(3 * GRID)
        theme_notifier().changed.connect(self.viewport().update)

    def show_table(self, table: CourseTable | None) -> None:
        """Show a table, or none."""
        self.cells.show(table)
        self.setAccessibleName(table.title if table else "Table of the paper")
        for column in range(self.cells.columnCount()):
            width = max(self._width_of_cells(column), self.header.minimum_width(column), _NARROWEST)
            self.setColumnWidth(column, min(width, _WIDEST))
        self.header.updateGeometry()
        self.updateGeometries()

    @property
    def width_of_columns(self) -> int:
        """What all columns need, pixels."""
        return sum(self.columnWidth(column) for column in range(self.cells.columnCount()))

    def _width_of_cells(self, column: int) -> int:
        metrics = self.fontMetrics()
        texts = (self.cells.index(row, column).data() for row in range(self.cells.rowCount()))
        return max((metrics.horizontalAdvance(text) for text in texts), default=0) + 3 * GRID
