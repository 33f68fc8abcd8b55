"""The cells of a tile: as large as there is room, or scrolled; the mouse or the arrow keys choose one.

A cell is a pixel of a small picture that is scaled up, so 100,000 cells paint as fast as 100.
"""

from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetrics,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip

from engine.geometry.tile_plan import TilePlan
from gui.explore.tile.tile_colours import ColourBy, colours_of, patterns_of
from gui.explore.tile.tile_words import cell_sentence, is_line, use_sentence
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme, theme_notifier

_LEAST, _LARGEST = 6, 44
_SCROLLED, _SCROLLED_ROW = 10, 24
_ZOOM = 1.5
_LEAST_LINED, _LEAST_PATTERNED = 8, 5
_GAP = HALF_GRID
_CENTRE = int(Qt.AlignmentFlag.AlignCenter)
_ARROWS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Home: (0, -(10**6)),
    Qt.Key.Key_End: (0, 10**6),
    Qt.Key.Key_PageUp: (-(10**6), 0),
    Qt.Key.Key_PageDown: (10**6, 0),
}


class TileGrid(QAbstractScrollArea):
    """Shows a TilePlan; `current` is the cell under the mouse, or that of the arrow keys."""

    current_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._plan: TilePlan | None = None
        self._colour_by = ColourBy.ROLE
        self._image = QImage()
        self._patterns: list[tuple[NDArray[np.bool_], Qt.BrushStyle]] = []
        # Pixels of a cell that were asked for; 0: as large as there is room.
        self._asked_size = 0
        self.current: tuple[int, int] | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.setFont(small_font())
        self.setAccessibleName("Tile")
        theme_notifier().changed.connect(self._colour)

    def sizeHint(self) -> QSize:
        return QSize(34 * GRID, 34 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, 8 * GRID)

    @property
    def plan(self) -> TilePlan | None:
        return self._plan

    def show_plan(self, plan: TilePlan | None) -> None:
        """Show a tile; the current cell is that of its first result, or stays at its place in the tile."""
        had = self._plan
        self._plan = plan
        if plan is None or 0 in plan.shape:
            self.current = None
        elif had is None or self.current is None or had.shape != plan.shape:
            self.current = _first_result(plan)
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
            wanted = round(self.cell * factor)
            self._asked_size = min(max(wanted, _LEAST), _LARGEST)
        else:
            self._asked_size = 0
        self._fit()
        self._show_current()

    @property
    def is_scrolled(self) -> bool:
        """Whether not all cells are in sight."""
        return self.horizontalScrollBar().maximum() > 0 or self.verticalScrollBar().maximum() > 0

    @property
    def cell(self) -> int:
        """Pixels of a cell."""
        if self._asked_size or self._plan is None:
            return self._asked_size or _LARGEST
        rows, columns = self._rows_drawn(), max(1, self._plan.shape[1])
        left, top = self._rulers()
        room = self.maximumViewportSize()
        fitting = min((room.width() - left) // columns, (room.height() - top) // max(1, rows))
        if fitting >= _LEAST:
            return min(fitting, _LARGEST)
        # What must be scrolled anyway gets cells that can be told apart, and numbers where it is one row.
        return _SCROLLED_ROW if self._has_results_row else _SCROLLED

    def cell_rect(self, row: int, column: int) -> QRect:
        """Return where a cell lies in the viewport."""
        left, top = self._rulers()
        size = self.cell
        x = left + column * size - self.horizontalScrollBar().value()
        y = top + row * size - self.verticalScrollBar().value()
        return QRect(x, y, size, size)

    def cell_at(self, place: QPoint) -> tuple[int, int] | None:
        """Return the cell at a place of the viewport; None beside the tile."""
        if self._plan is None:
            return None
        left, top = self._rulers()
        column = (place.x() - left + self.horizontalScrollBar().value()) // self.cell
        row = (place.y() - top + self.verticalScrollBar().value()) // self.cell
        rows, columns = self._plan.shape
        if place.x() < left or place.y() < top or not 0 <= column < columns:
            return None
        if self._has_results_row and row == 2:
            # The row of results: they lie under their own cells.
            row = 0
        return (row, column) if 0 <= row < rows else None

    def set_current(self, cell: tuple[int, int]) -> None:
        """Make a cell the current one."""
        if self._plan is not None and cell != self.current:
            self.current = cell
            self._moved()

    def sentences(self) -> tuple[str, str]:
        """Return which cells the result at the current cell uses, and who loads that cell."""
        if self._plan is None or self.current is None:
            return "", ""
        result = self._plan.result_at(*self.current)
        used = use_sentence(self._plan, *result) if result else "No result of this block lies here."
        return used, cell_sentence(self._plan, *self.current)

    @property
    def _has_results_row(self) -> bool:
        """Whether results are drawn in a row of their own, as in the lecture: where the tile is one row."""
        return self._plan is not None and self._plan.shape[0] == 1 and self._plan.window_stride[0] == 1

    def _rows_drawn(self) -> int:
        return 3 if self._has_results_row else self._plan.shape[0] if self._plan else 1

    def _rulers(self) -> tuple[int, int]:
        """Return the room for row numbers on the left, and for column numbers above."""
        if self._plan is None:
            return 0, 0
        metrics = QFontMetrics(self.font())
        last_row = int(self._plan.source_rows[-1, 0]) if self._plan.source_rows.size else 0
        texts = ("N", "P") if self._has_results_row else (str(last_row), "-99")
        return max(map(metrics.horizontalAdvance, texts)) + GRID, metrics.height() + _GAP

    def _colour(self) -> None:
        plan = self._plan
        if plan is None or 0 in plan.shape:
            self._image, self._patterns = QImage(), []
        else:
            colours = np.ascontiguousarray(colours_of(plan, self._colour_by, current_theme()))
            height, width = plan.shape
            image = QImage(colours.data, width, height, 3 * width, QImage.Format.Format_RGB888)
            # The array's memory is not kept.
            self._image, self._patterns = image.copy(), patterns_of(plan)
        self.viewport().update()

    def _fit(self) -> None:
        plan, size, room = self._plan, self.cell, self.viewport().size()
        left, top = self._rulers()
        rows, columns = (self._rows_drawn(), plan.shape[1]) if plan else (0, 0)
        for bar, needed, there in (
            (self.horizontalScrollBar(), left + columns * size, room.width()),
            (self.verticalScrollBar(), top + rows * size, room.height()),
        ):
            bar.setRange(0, max(0, needed - there))
            bar.setPageStep(there)
            bar.setSingleStep(size)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _moved(self) -> None:
        self.setAccessibleDescription(" ".join(self.sentences()))
        self.viewport().update()
        self.current_changed.emit()

    def _show_current(self) -> None:
        if self.current is None:
            return
        rect, room = self.cell_rect(*self.current), self.viewport().rect()
        left, top = self._rulers()
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        across.setValue(across.value() + min(0, rect.left() - left) + max(0, rect.right() - room.right()))
        down.setValue(down.value() + min(0, rect.top() - top) + max(0, rect.bottom() - room.bottom()))

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position().toPoint())
        if cell is not None:
            self.set_current(cell)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            cell = self.cell_at(event.pos())
            text = cell_sentence(self._plan, *cell) if self._plan is not None and cell else ""
            QToolTip.showText(event.globalPos(), text, self.viewport())
            return True
        return super().viewportEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.zoom(1 if event.angleDelta().y() > 0 else -1)
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if self._plan is None or self.current is None:
            super().keyPressEvent(event)
        elif key in _ARROWS:
            (row, column), (down, across) = self.current, _ARROWS[key]
            rows, columns = self._plan.shape
            self.set_current((min(max(row + down, 0), rows - 1), min(max(column + across, 0), columns - 1)))
            self._show_current()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(1)
        elif key == Qt.Key.Key_Minus:
            self.zoom(-1)
        elif key == Qt.Key.Key_0:
            self.zoom(0)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: object) -> None:
        super().focusInEvent(event)  # type: ignore[arg-type]
        self.viewport().update()

    def focusOutEvent(self, event: object) -> None:
        super().focusOutEvent(event)  # type: ignore[arg-type]
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        plan = self._plan
        if plan is None or self._image.isNull():
            return
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        left, top = self._rulers()
        room = self.viewport().rect()
        rows, columns = self._visible()
        painter.setClipRect(room.adjusted(left, top, 0, 0))
        target = self.cell_rect(0, 0).united(self.cell_rect(plan.shape[0] - 1, plan.shape[1] - 1))
        painter.drawImage(target, self._image)
        if self.cell >= _LEAST_PATTERNED:
            self._paint_patterns(painter, rows, columns)
        if self.cell >= _LEAST_LINED:
            painter.setPen(QColor(current_theme().base))
            for column in (*columns, columns.stop):
                x = self.cell_rect(0, column).left()
                painter.drawLine(x, target.top(), x, target.bottom())
            for row in (*rows, rows.stop):
                y = self.cell_rect(row, 0).top()
                painter.drawLine(target.left(), y, target.right(), y)
        self._paint_numbers(painter, plan, rows, columns)
        if self._has_results_row:
            self._paint_results(painter, plan)
        self._paint_current(painter, plan, rows, columns)
        painter.setClipping(False)
        self._paint_rulers(painter, plan, rows, columns)
        if self.hasFocus():
            painter.setPen(QPen(QColor(current_theme().accent), 2))
            painter.drawRect(room.adjusted(1, 1, -1, -1))
        painter.end()

    def _visible(self) -> tuple[range, range]:
        assert self._plan is not None
        left, top = self._rulers()
        size, room = self.cell, self.viewport().size()
        first_row, first = (
            self.verticalScrollBar().value() // size,
            self.horizontalScrollBar().value() // size,
        )
        rows, columns = self._plan.shape
        last_row = min(rows, first_row + (room.height() - top) // size + 2)
        return range(first_row, last_row), range(
            first, min(columns, first + (room.width() - left) // size + 2)
        )

    def _paint_patterns(self, painter: QPainter, rows: range, columns: range) -> None:
        colour = QColor(current_theme().text)
        colour.setAlphaF(0.55)
        for mask, pattern in self._patterns:
            brush = QBrush(colour, pattern)
            for row in rows:
                at = columns.start
                for is_one, run in groupby(mask[row, columns.start : columns.stop].tolist()):
                    count = len(list(run))
                    if is_one:
                        rect = self.cell_rect(row, at)
                        painter.fillRect(QRect(rect.topLeft(), QSize(count * self.cell, self.cell)), brush)
                    at += count

    def _paint_numbers(self, painter: QPainter, plan: TilePlan, rows: range, columns: range) -> None:
        """Write the index of each cell, its step or its thread, where the longest has room."""
        if self._colour_by is ColourBy.STEP:
            numbers, most = plan.steps, int(plan.steps.max())
        elif self._colour_by is ColourBy.THREAD:
            numbers, most = plan.loaders, plan.block.threads - 1
        elif is_line(plan):
            numbers, most = plan.source_columns // plan.apart, plan.width - 1
        else:
            return
        metrics = painter.fontMetrics()
        if metrics.horizontalAdvance(str(most)) + 2 > self.cell or metrics.height() > self.cell + 2:
            return
        painter.setPen(QColor(current_theme().text))
        for row in rows:
            for column in columns:
                number = int(numbers[row, column])
                if self._colour_by is ColourBy.ROLE or plan.loaders[row, column] >= 0:
                    painter.drawText(self.cell_rect(row, column), _CENTRE, str(number))

    def _paint_results(self, painter: QPainter, plan: TilePlan) -> None:
        """Draw the results of a tile of one row below their own cells, as the lecture does."""
        theme = current_theme()
        painter.setPen(QColor(theme.outline))
        metrics = painter.fontMetrics()
        for j, column in enumerate(plan.result_columns[0].tolist()):
            rect = self.cell_rect(2, column - int(plan.source_columns[0, 0]))
            painter.setPen(QColor(theme.outline))
            painter.drawRect(rect.adjusted(0, 0, -1, -1))
            text = str(int(plan.computers[0, j])) if self._colour_by is ColourBy.THREAD else str(column)
            if metrics.horizontalAdvance(text) + 2 <= self.cell:
                painter.setPen(QColor(theme.text))
                painter.drawText(rect, _CENTRE, text)

    def _paint_current(self, painter: QPainter, plan: TilePlan, rows: range, columns: range) -> None:
        """Mark the current cell, what its thread loads besides, and the cells under its result's mask."""
        if self.current is None:
            return
        theme = current_theme()
        loader = plan.loaders[self.current]
        if loader >= 0 and self.cell >= _LEAST_LINED:
            painter.setPen(QPen(QColor(theme.text), 1))
            view = plan.loaders[rows.start : rows.stop, columns.start : columns.stop]
            for row, column in np.argwhere(view == loader).tolist():
                rect = self.cell_rect(rows.start + row, columns.start + column)
                painter.drawRect(rect.adjusted(2, 2, -3, -3))
        result = plan.result_at(*self.current)
        if result is not None:
            painter.setPen(QPen(QColor(theme.accent), 2))
            down, across = plan.window(*result)
            last = min(down.stop, plan.shape[0]) - 1
            for first, end in _runs(across):
                rect = self.cell_rect(down.start, first).united(self.cell_rect(last, end))
                painter.drawRect(rect.adjusted(1, 1, -1, -1))
            if self._has_results_row:
                painter.drawRect(self.cell_rect(2, self.current[1]).adjusted(1, 1, -1, -1))
        pen = QPen(QColor(theme.text), 2)
        if self.hasFocus():
            pen.setStyle(Qt.PenStyle.DotLine)
        painter.setPen(pen)
        painter.drawRect(self.cell_rect(*self.current).adjusted(1, 1, -1, -1))

    def _paint_rulers(self, painter: QPainter, plan: TilePlan, rows: range, columns: range) -> None:
        """Write numbers of columns above and of rows on the left, as many as there is room for."""
        painter.setPen(QColor(current_theme().muted))
        metrics, (left, top) = painter.fontMetrics(), self._rulers()
        if plan.window_stride[0] == 0:
            # Rows of X are cells of the mask, columns are pixels.
            names_across, names_down = plan.result_columns[0], np.arange(plan.shape[0], dtype=np.int32)
        else:
            names_across, names_down = plan.source_columns[0] // plan.apart, plan.source_rows[:, 0]
        width = (
            max(metrics.horizontalAdvance(str(name)) for name in (*names_across[[0, -1]], -99)) + HALF_GRID
        )
        every = -(-width // self.cell)
        for column in columns:
            if column % every == 0:
                rect = self.cell_rect(0, column)
                place = QRect(rect.center().x() - width, 0, 2 * width, top - _GAP)
                if place.center().x() >= left:
                    painter.drawText(place, _CENTRE, str(names_across[column]))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if self._has_results_row:
            for row, name in ((0, plan.reads), (2, plan.writes)):
                rect = self.cell_rect(row, 0)
                painter.drawText(QRect(0, rect.top(), left - HALF_GRID, self.cell), right, name)
            return
        every = -(-metrics.height() // self.cell)
        for row in rows:
            rect = self.cell_rect(row, 0)
            if row % every == 0 and rect.center().y() >= top:
                place = QRect(0, rect.center().y() - metrics.height(), left - HALF_GRID, 2 * metrics.height())
                painter.drawText(place, right, str(names_down[row]))


def _first_result(plan: TilePlan) -> tuple[int, int]:
    """Return the cell of the first result, or the first cell of all."""
    if plan.window_stride[0] == 0 or plan.result_rows.size == 0:
        return 0, 0
    found = np.argwhere(
        (plan.source_rows == plan.result_rows[0, 0]) & (plan.source_columns == plan.result_columns[0, 0])
    )
    row, column = found[0].tolist() if len(found) else (0, 0)
    return row, column


def _runs(columns: slice) -> list[tuple[int, int]]:
    """Return first and last of neighbouring columns: one run, or each by itself where they lie apart."""
    numbers = range(columns.start, columns.stop, columns.step or 1)
    if numbers.step == 1:
        return [(numbers[0], numbers[-1])]
    return [(number, number) for number in numbers]
