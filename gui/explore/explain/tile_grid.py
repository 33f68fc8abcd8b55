"""The cells of a tile: as large as there is room, or scrolled; the mouse or the arrow keys choose one.

`gui.explore.explain.tile_painter` paints them.
"""

import math

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QHeaderView

from engine.geometry.tile_plan import TilePlan
from gui.explore.explain.tile_painter import (
    ColourBy,
    TileFrame,
    cell_sentence,
    has_results_row,
    look_of,
    paint_tile,
    use_sentence,
)
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.number_table import NumberTable

Index = QModelIndex | QPersistentModelIndex
_LEAST, _LARGEST = 6, 44
_SCROLLED, _SCROLLED_ROW = 10, 24
_ZOOM = 1.5


class TileGrid(NumberTable):
    """Shows a TilePlan; `current` is the cell under the mouse, or that of the arrow keys."""

    current_changed = Signal()
    plan: TilePlan | None = None

    def __init__(self) -> None:
        super().__init__("Tile", chosen_from=True)
        self._colour_by = ColourBy.ROLE
        self._look = look_of(None, ColourBy.ROLE, current_theme())
        # Pixels of a cell that were asked for; 0: as large as there is room.
        self._asked_size = 0
        self.setFont(small_font())
        # The mouse scrolls nothing.
        self.setAutoScroll(False)
        self.setHorizontalHeader(_Ruler(Qt.Orientation.Horizontal, self))
        self.setVerticalHeader(_Ruler(Qt.Orientation.Vertical, self))
        for policy in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            policy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setHorizontalScrollMode(NumberTable.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(NumberTable.ScrollMode.ScrollPerPixel)
        self.setStyleSheet("QTableCornerButton::section { border: 0; background: transparent; }")
        theme_notifier().changed.connect(self._colour)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, 8 * GRID)

    @property
    def current(self) -> tuple[int, int] | None:
        """Row and column of the current cell; None without a tile."""
        return self.cell_of(self.currentIndex())

    def cell_of(self, index: Index) -> tuple[int, int] | None:
        """Return the cell of an index; results in a row of their own lie under their cells."""
        if self.plan is None or not index.isValid():
            return None
        return 0 if has_results_row(self.plan) else index.row(), index.column()

    def show_plan(self, plan: TilePlan | None) -> None:
        """Show a tile; the current cell is that of its first result, or stays at its place in the tile."""
        self.plan = plan
        rows, columns = plan.shape if plan is not None else (0, 0)
        if plan is not None:
            has_results = has_results_row(plan)
            down = (plan.reads, "", plan.writes) if has_results else map(str, plan.source_rows.tolist())
            self.texts.setVerticalHeaderLabels(tuple(down))
            across = (plan.source_columns // plan.apart).tolist()
            self.texts.setHorizontalHeaderLabels(tuple(map(str, across)))
            rows = 3 if has_results and columns else rows
        self.show_cells((rows, columns), lambda row, column: "", self._words)
        if plan is not None and rows and columns and not self.currentIndex().isValid():
            (row, column), (above, left) = plan.first_result, plan.first
            self.setCurrentIndex(self.texts.index(row - above, column - left))
        self._colour()
        self._fit()
        self._moved()

    def show_colours(self, by: ColourBy) -> None:
        """Colour the cells by something else."""
        self._colour_by = by
        self._colour()

    def zoom(self, steps: int) -> None:
        """Enlarge or shrink the cells; 0 makes them as large as there is room."""
        if steps:
            factor = _ZOOM if steps > 0 else 1 / _ZOOM
            self._asked_size = min(max(round(self.cell_size * factor), _LEAST), _LARGEST)
        else:
            self._asked_size = 0
        self._fit()
        self.scrollTo(self.currentIndex())

    @property
    def cell_size(self) -> int:
        """Pixels of a cell."""
        if self._asked_size or self.plan is None:
            return self._asked_size or _LARGEST
        room, rows, columns = self.maximumViewportSize(), self.texts.rowCount(), self.texts.columnCount()
        fitting = min(room.width() // max(1, columns), room.height() // max(1, rows))
        if fitting >= _LEAST:
            return min(fitting, _LARGEST)
        # What must be scrolled anyway gets cells that can be told apart, and numbers where it is one row.
        return _SCROLLED_ROW if has_results_row(self.plan) else _SCROLLED

    def sentences(self) -> tuple[str, str]:
        """Return which cells the result at the current cell uses, and who loads that cell."""
        if self.plan is None or self.current is None:
            return "", ""
        result = self.plan.result_at(*self.current)
        used = use_sentence(self.plan, *result) if result else "No result of this block lies here."
        return used, cell_sentence(self.plan, *self.current)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self._moved()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        # Not `entered`: what is scrolled by keys under a resting mouse is not pointed at.
        index = self.indexAt(event.position().toPoint())
        if index.isValid():
            self.setCurrentIndex(index)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.zoom(1 if event.angleDelta().y() > 0 else -1)
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(1)
        elif key == Qt.Key.Key_Minus:
            self.zoom(-1)
        elif key == Qt.Key.Key_0:
            self.zoom(0)
        else:
            super().keyPressEvent(event)
            self.scrollTo(self.currentIndex())

    def paintEvent(self, event: QPaintEvent) -> None:
        # Cell by cell a delegate would take a hundred times as long.
        plan = self.plan
        if plan is None or self._look.image.isNull():
            return
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        corner = QPoint(self.columnViewportPosition(0), self.rowViewportPosition(0))
        frame = TileFrame(plan, self.columnWidth(0), corner, self.viewport().size())
        paint_tile(painter, frame, self._look, self.current, self.hasFocus(), current_theme())
        painter.end()

    def _words(self, row: int, column: int) -> str:
        cell = self.cell_of(self.texts.index(row, column))
        return cell_sentence(self.plan, *cell) if self.plan is not None and cell else ""

    def _colour(self) -> None:
        self._look = look_of(self.plan, self._colour_by, current_theme())
        self.viewport().update()

    def _fit(self) -> None:
        # First the rulers, which leave the room for the cells; then how far these are scrolled.
        self.updateGeometries()
        self.set_cell_size(self.cell_size, self.cell_size)
        self.updateGeometries()

    def _moved(self) -> None:
        self.setAccessibleDescription(" ".join(self.sentences()))
        self.viewport().update()
        self.current_changed.emit()


class _Ruler(QHeaderView):
    """The numbers of rows or columns, as many as there is room for."""

    def __init__(self, orientation: Qt.Orientation, grid: TileGrid) -> None:
        super().__init__(orientation, grid)
        self.setMinimumSectionSize(1)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setFont(small_font())
        self.viewport().setAutoFillBackground(False)

    @property
    def _is_across(self) -> bool:
        return self.orientation() == Qt.Orientation.Horizontal

    def _label(self, section: int) -> str:
        return str(self.model().headerData(section, self.orientation()))

    def _widest(self) -> int:
        ends = {0, self.count() - 1} if self.count() else set()
        return max(self.fontMetrics().horizontalAdvance(text) for text in ("-99", *map(self._label, ends)))

    def sizeHint(self) -> QSize:
        return QSize(self._widest() + GRID, self.fontMetrics().height() + HALF_GRID)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.count():
            return
        painter = QPainter(self.viewport())
        painter.setPen(QColor(current_theme().muted))
        size, high, wide = self.sectionSize(0), self.fontMetrics().height(), self._widest()
        every = math.ceil((wide + HALF_GRID if self._is_across else high) / size)
        # Of the three rows with results the last is named.
        every = min(every, 2) if self.count() <= 3 else every
        for section in range(0, self.count(), every):
            middle = self.sectionViewportPosition(section) + size // 2
            if middle < 0:
                continue
            if self._is_across:
                # Whole at the left edge too.
                half = min(wide, middle)
                place = QRect(middle - half, 0, half + wide, high)
                align = Qt.AlignmentFlag.AlignHCenter if half == wide else Qt.AlignmentFlag.AlignLeft
            else:
                place = QRect(0, middle - high, self.width() - HALF_GRID, 2 * high)
                align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, int(align), self._label(section))
        painter.end()
