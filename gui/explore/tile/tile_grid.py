"""The cells of a tile: as large as there is room, or scrolled; the mouse or the arrow keys choose one.

`gui.explore.tile.tile_painter` paints them.
"""

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip

from engine.geometry.tile_plan import TilePlan
from gui.explore.tile.tile_colours import ColourBy
from gui.explore.tile.tile_painter import GAP, TileFrame, has_results_row, look_of, paint_tile
from gui.explore.tile.tile_words import cell_sentence, use_sentence
from gui.style.metrics import GRID, small_font
from gui.style.theme import current_theme, theme_notifier

_LEAST, _LARGEST = 6, 44
_SCROLLED, _SCROLLED_ROW = 10, 24
_ZOOM = 1.5
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
        self._look = look_of(None, ColourBy.ROLE, current_theme())
        # Pixels of a cell that were asked for; 0: as large as there is room.
        self._asked_size = 0
        self.current: tuple[int, int] | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.setFont(small_font())
        self.setAccessibleName("Tile")
        theme_notifier().changed.connect(self._colour)

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
            self.current = plan.first_result[0] - plan.first[0], plan.first_result[1] - plan.first[1]
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
        assert self._plan is not None
        return self._frame(self._plan).rect(row, column)

    def cell_at(self, point: QPoint) -> tuple[int, int] | None:
        """Return the cell at a place of the viewport; None beside the tile."""
        return self._frame(self._plan).cell_at(point) if self._plan is not None else None

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
        return self._plan is not None and has_results_row(self._plan)

    def _frame(self, plan: TilePlan) -> TileFrame:
        scrolled = QPoint(self.horizontalScrollBar().value(), self.verticalScrollBar().value())
        return TileFrame(plan, self.cell, *self._rulers(), scrolled, self.viewport().size())

    def _rows_drawn(self) -> int:
        return 3 if self._has_results_row else self._plan.shape[0] if self._plan else 1

    def _rulers(self) -> tuple[int, int]:
        """Return the room for row numbers on the left, and for column numbers above."""
        if self._plan is None:
            return 0, 0
        metrics = QFontMetrics(self.font())
        last_row = self._plan.first[0] + self._plan.shape[0] - 1
        texts = ("N", "P") if self._has_results_row else (str(last_row), "-99")
        return max(map(metrics.horizontalAdvance, texts)) + GRID, metrics.height() + GAP

    def _colour(self) -> None:
        self._look = look_of(self._plan, self._colour_by, current_theme())
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
        if plan is None or self._look.image.isNull():
            return
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        paint_tile(painter, self._frame(plan), self._look, self.current, self.hasFocus(), current_theme())
        painter.end()
