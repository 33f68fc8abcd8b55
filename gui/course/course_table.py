"""One table of a paper: the printed figures quiet, this machine's beside them."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from engine.course.paper import CourseTable
from gui.course.course_table_model import IS_QUIET_ROLE, CourseTableModel
from gui.course.table_header import PairedHeader
from gui.style.metrics import GRID, number_font
from gui.style.theme import current_theme, theme_notifier

# A text in a cell may be a sentence; where there is no room for it in a line, it is wrapped.
_WIDEST = 40 * GRID
_NARROWEST = 8 * GRID
_TALLEST = 10_000


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

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        # With a style sheet's padding, Qt wraps but leaves no room above and below the lines.
        place = QRect(0, 0, option.rect.width() - 2 * GRID, _TALLEST)
        words = option.fontMetrics.boundingRect(place, int(Qt.TextFlag.TextWordWrap), index.data() or "")
        return QSize(option.rect.width(), words.height() + GRID)


class CourseTableView(QTableView):
    """Shows a CourseTable; arrow keys go from cell to cell, the tooltip says more of each."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._needed: list[int] = []
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
        self.setWordWrap(True)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(3 * GRID)
        self.verticalHeader().setMinimumSectionSize(3 * GRID)
        theme_notifier().changed.connect(self.viewport().update)

    def show_table(self, table: CourseTable | None) -> None:
        """Show a table, or none."""
        self.cells.show(table)
        self.setAccessibleName(table.title if table else "Table of the paper")
        self._needed = [
            max(self._width_of_cells(column), self.header.minimum_width(column), _NARROWEST)
            for column in range(self.cells.columnCount())
        ]
        self._share_width()
        self.header.updateGeometry()
        self.updateGeometries()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if max(self._needed, default=0) > _WIDEST:
            self._share_width()

    @property
    def width_of_columns(self) -> int:
        """What all columns need, pixels."""
        return sum(self.columnWidth(column) for column in range(self.cells.columnCount()))

    def _share_width(self) -> None:
        """Give each column what it needs; those of sentences what the others leave, and as many lines as it takes."""
        sentences = [column for column, needed in enumerate(self._needed) if needed > _WIDEST]
        room = self.viewport().width() - sum(self._needed)
        for column, needed in enumerate(self._needed):
            # What is missing is taken from each in the share of what it needs.
            missing = min(0, room) * needed // max(1, sum(self._needed[at] for at in sentences))
            self.setColumnWidth(column, max(_WIDEST, needed + missing) if column in sentences else needed)
        if sentences:
            self.resizeRowsToContents()

    def _width_of_cells(self, column: int) -> int:
        metrics = self.fontMetrics()
        texts = (self.cells.index(row, column).data() for row in range(self.cells.rowCount()))
        return max((metrics.horizontalAdvance(text) for text in texts), default=0) + 3 * GRID
