"""The values of one layer as pictures; a cell is chosen by mouse or arrow keys."""

import math
from collections.abc import Iterator

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.tasks.network.problem import Layer
from gui.network.ink import as_steps, draw_frames, picture_of, shades
from gui.network.layers import Cell, Floats, is_vector
from gui.network.words import shape_text, short_number
from gui.style.cell_colours import cell_background, readable_text
from gui.style.metrics import GRID, number_font
from gui.style.theme import current_theme, theme_notifier

# With 22 maps in a line, 64 of them take three lines in a window of 1280 pixels.
_GAP = 3
# Values of a vector that have a word of their own in their cell, as the ten scores have.
_FEW = 16
_STRIP_ROW = 2 * GRID
_SCORE_ROW = 4 * GRID
_KEYS = (
    "Arrow keys choose a cell, Page Up and Page Down a map, Home and End the first and the last map, "
    "Esc lets the cell go; + and − (or Ctrl with the wheel) make all maps larger and smaller, 0 fits them."
)
_ZOOMS = {Qt.Key.Key_Plus: 1, Qt.Key.Key_Equal: 1, Qt.Key.Key_Minus: -1, Qt.Key.Key_0: 0}
Window = tuple[int | None, range, range]
"""A map, or None for all of them, and its rows and columns."""


class LayerView(QWidget):
    """The maps of a layer side by side, or a vector as a strip.

    All maps of a layer share one scale, from 0 to the layer's largest value.
    """

    pointed = Signal(object)  # the Cell under the mouse
    chosen = Signal(object)  # the Cell that was clicked, or reached with the keys
    release_cell = Signal()
    zoomed = Signal(int)  # 1: larger maps are wanted, -1: smaller ones, 0: those that fit

    def __init__(self, layer: Layer, position: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.layer, self.position = layer, position
        self._is_vector = is_vector(layer)
        self._is_scores = self._is_vector and layer.values <= _FEW
        self._maps, self._rows, self._columns = (1, 1, layer.values) if self._is_vector else layer.shape
        self._values: Floats | None = None
        self._images: list[QImage] = []
        self._cell: Cell | None = None
        self._is_kept = False
        self._window: Window | None = None
        self._shown: int | None = None
        self._scale = 1
        # The width that its maps are laid out in.
        self._room = 1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName(f"{layer.title}: {shape_text(layer)}")
        self.describe("")
        self.setToolTip(f"Point at a cell to see where its value comes from; a click keeps it. {_KEYS}")
        theme_notifier().changed.connect(self._paint_images)

    def show_values(self, values: Floats | None) -> None:
        """Show the values of another drawing."""
        self._values = values
        self._paint_images()

    def mark(self, cell: Cell | None, is_kept: bool, window: Window | None, shown: int | None) -> None:
        """Mark the chosen cell if it is of this layer, and the window that the chosen value comes from.

        `shown` is the map whose window is shown in figures.
        """
        own = cell if cell is not None and cell.layer == self.position else None
        marks = own, is_kept, window, shown
        if marks != (self._cell, self._is_kept, self._window, self._shown):
            self._cell, self._is_kept, self._window, self._shown = marks
            self.update()

    def describe(self, words: str) -> None:
        """Describe to screen readers what is chosen."""
        self.setAccessibleDescription(f"{words} {_KEYS}".strip())

    def height_at(self, side: int, width: int) -> int:
        """Return the height at maps of about `side` pixels in so much width."""
        if self._is_scores:
            return _SCORE_ROW
        if self._is_vector:
            return _STRIP_ROW * math.ceil(self._columns / self._strip_columns(width))
        tile = self._tile_at(side)
        return math.ceil(self._maps / self._per_line(tile, width)) * tile - _GAP

    def set_side(self, side: int, width: int) -> None:
        """Draw maps of about `side` pixels."""
        self._scale, self._room = self._scale_at(side), width
        self.setFixedHeight(self.height_at(side, width) + 2)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(60 * GRID, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        theme = current_theme()
        if self._is_vector:
            self._paint_vector(painter)
        else:
            for number, image in enumerate(self._images):
                rect = self._map_rect(number)
                painter.drawImage(rect, image)
                painter.setPen(QPen(QColor(theme.line), 1))
                painter.drawRect(rect.adjusted(-0.5, -0.5, 0.5, 0.5))
        if self._window is not None:
            draw_frames(painter, self._window_frames(self._window), theme, 1)
            if self._shown is not None:
                draw_frames(painter, self._window_frames((self._shown, *self._window[1:])), theme, 3)
        if self._cell is not None:
            draw_frames(painter, [self._cell_rect(self._cell).adjusted(-1, -1, 1, 1)], theme, 2)
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        cell = self._cell_at(event.position())
        if cell is not None:
            self.pointed.emit(cell)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self._cell_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or cell is None:
            return
        if self._is_kept and cell == self._cell:
            self.release_cell.emit()
        else:
            self.chosen.emit(cell)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta().y()
        if turned and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoomed.emit(1 if turned > 0 else -1)
        else:
            # The panel scrolls.
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, keys = Qt.Key(event.key()), Qt.Key
        cell = self._cell or Cell(self.position)
        row, column, number = cell.row, cell.column, cell.map
        is_last = self._columns - 1 if self._is_vector else self._maps - 1
        if key in _ZOOMS:
            self.zoomed.emit(_ZOOMS[key])
            return
        if key == keys.Key_Escape and self._is_kept:
            self.release_cell.emit()
            return
        if key in (keys.Key_Left, keys.Key_Right):
            column += 1 if key == keys.Key_Right else -1
        elif key in (keys.Key_Up, keys.Key_Down):
            step = 1 if key == keys.Key_Down else -1
            if self._is_vector:
                column += step * self._strip_columns(self._room)
            else:
                row += step
        elif key in (keys.Key_PageUp, keys.Key_PageDown):
            number += 1 if key == keys.Key_PageDown else -1
        elif key in (keys.Key_Home, keys.Key_End):
            number = 0 if key == keys.Key_Home else is_last
            if self._is_vector:
                column = number
        else:
            super().keyPressEvent(event)
            return
        within = (
            min(max(at, 0), most - 1)
            for at, most in ((number, self._maps), (row, self._rows), (column, self._columns))
        )
        self.chosen.emit(Cell(self.position, *within))

    def _paint_images(self) -> None:
        self._images = []
        if self._values is not None and not self._is_vector:
            colours = shades(current_theme())
            steps = as_steps(self._values, float(self._values.max()))
            self._images = [picture_of(one, colours) for one in steps]
        self.update()

    def _paint_vector(self, painter: QPainter) -> None:
        if self._values is None:
            return
        theme, font = current_theme(), number_font()
        painter.setFont(font)
        line = QFontMetrics(font).lineSpacing()
        largest = float(abs(self._values).max())
        colours = shades(theme)
        steps = as_steps(self._values, largest)
        for at, value in enumerate(self._values.tolist()):
            rect = self._cell_rect(Cell(self.position, column=at))
            if self._is_scores:
                ground = cell_background(value, largest, theme)
                painter.fillRect(rect, ground)
                painter.setPen(readable_text(ground, theme))
                for part, text in enumerate((str(at), short_number(value))):
                    words = QRectF(rect.left(), rect.top() + (_SCORE_ROW - 2 * line) / 2 + part * line,
                                   rect.width(), line)  # fmt: skip
                    painter.drawText(words, int(Qt.AlignmentFlag.AlignCenter), text)
            else:
                painter.fillRect(rect, QColor(colours[int(steps[at])]))
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawRect(rect.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _window_frames(self, window: Window) -> Iterator[QRectF]:
        chosen, rows, columns = window
        for number in range(self._maps) if chosen is None else [chosen]:
            if self._is_vector:
                first, last = (
                    self._cell_rect(Cell(self.position, column=at))
                    for at in (self._strip_columns(self._room) - 1, self._columns - 1)
                )
                yield QRectF(1, 1, first.right() - 1, last.bottom() - 1)
                return
            rect, scale = self._map_rect(number), self._scale
            yield QRectF(
                rect.left() + columns.start * scale, rect.top() + rows.start * scale,
                len(columns) * scale, len(rows) * scale,
            )  # fmt: skip

    def _scale_at(self, side: int) -> int:
        return max(1, round(side / max(self._rows, self._columns)))

    def _tile_at(self, side: int) -> int:
        return self._scale_at(side) * self._columns + _GAP

    def _per_line(self, tile: int, width: int) -> int:
        """Return how many maps stand in a line: a number that divides all of them, where there is one."""
        most = max(1, min(self._maps, (width + _GAP) // tile))
        lines = math.ceil(self._maps / most)
        return math.ceil(self._maps / lines)

    def _strip_columns(self, width: int) -> int:
        """Return how many values of a vector stand in a line: all, or half of them where they are thin."""
        columns = self._columns
        while columns > _FEW and width // columns < GRID:
            columns = math.ceil(columns / 2)
        return columns

    def _map_rect(self, number: int) -> QRectF:
        tile = self._scale * self._columns + _GAP
        per_line = self._per_line(tile, self._room)
        left, top = (number % per_line) * tile, (number // per_line) * (self._scale * self._rows + _GAP)
        return QRectF(left + 1, top + 1, self._scale * self._columns, self._scale * self._rows)

    def _cell_rect(self, cell: Cell) -> QRectF:
        if self._is_vector:
            per_line = self._columns if self._is_scores else self._strip_columns(self._room)
            width = max(1, (self._room - 2) // per_line)
            height = _SCORE_ROW if self._is_scores else _STRIP_ROW
            return QRectF(
                1 + (cell.column % per_line) * width, 1 + (cell.column // per_line) * height, width, height
            )
        rect, scale = self._map_rect(cell.map), self._scale
        return QRectF(rect.left() + cell.column * scale, rect.top() + cell.row * scale, scale, scale)

    def _cell_at(self, point: QPointF) -> Cell | None:
        """Return the cell under a place; None between maps."""
        if self._is_vector:
            cells = (Cell(self.position, column=at) for at in range(self._columns))
            return next((cell for cell in cells if self._cell_rect(cell).contains(point)), None)
        tile = self._scale * self._columns + _GAP
        per_line = self._per_line(tile, self._room)
        across, down = int((point.x() - 1) // tile), int((point.y() - 1) // tile)
        number = down * per_line + across
        if across >= per_line or across < 0 or down < 0 or number >= self._maps:
            return None
        origin = self._map_rect(number)
        if not origin.contains(point):
            return None
        row = int((point.y() - origin.top()) // self._scale)
        column = int((point.x() - origin.left()) // self._scale)
        return Cell(self.position, number, min(row, self._rows - 1), min(column, self._columns - 1))
