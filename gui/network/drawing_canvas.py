"""Where a digit is drawn: by the mouse, or with the keyboard."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.network.drawing import SIDE, Drawing, Point, draw_frames, picture_of, shades
from gui.style.metrics import GRID
from gui.style.theme import current_theme

_KEYS = (
    "Arrow keys move, with Shift they draw; Space draws a dot, Backspace erases one, Delete clears it all, "
    "With the mouse the left button draws and the right one erases."
)
_LARGEST_CELL = GRID + 4
_MOVES = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class DrawingCanvas(QWidget):
    """Shows the drawing and changes it; `window` marks the cells that a value of a layer comes from."""

    def __init__(self, drawing: Drawing) -> None:
        super().__init__()
        self._drawing = drawing
        self._cursor = (SIDE // 2, SIDE // 2)  # row, column
        self._window: tuple[range, range] | None = None
        self._erases = False
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setAccessibleName("Drawing, 28 × 28 cells")
        self.setToolTip(f"Draw a digit as large as the field. {_KEYS}")
        drawing.changed.connect(self.update)
        self._describe()

    @property
    def cell_side(self) -> int:
        """Side of a cell, pixels."""
        return max(1, (min(self.width(), self.height()) - 2) // SIDE)

    def mark(self, window: tuple[range, range] | None) -> None:
        """Mark rows and columns; None marks nothing."""
        if window != self._window:
            self._window = window
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(SIDE * GRID, SIDE * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(SIDE * GRID // 2, SIDE * GRID // 2)

    def heightForWidth(self, width: int) -> int:
        # Whole pixels per cell, and not so large that the probabilities are pushed out.
        return SIDE * min(max(1, (width - 2) // SIDE), _LARGEST_CELL) + 2

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, field = current_theme(), self._field()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.drawImage(field, picture_of(self._drawing.ink, shades(theme)))
        painter.setPen(QPen(QColor(theme.outline), 1))
        painter.drawRect(field.adjusted(-0.5, -0.5, 0.5, 0.5))
        if self._drawing.is_empty:
            painter.setPen(QColor(theme.muted))
            painter.drawText(field, int(Qt.AlignmentFlag.AlignCenter), "Draw a digit here")
        if self._window is not None:
            rows, columns = self._window
            draw_frames(painter, [self._rect(rows, columns)], theme)
        if self.hasFocus():
            row, column = self._cursor
            draw_frames(painter, [self._rect(range(row, row + 1), range(column, column + 1))], theme, 1)
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(field.adjusted(1, 1, -1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton):
            self._erases = event.button() == Qt.MouseButton.RightButton
            self._drawing.begin(self._point(event.position()), erases=self._erases)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._drawing.extend(self._point(event.position()), erases=self._erases)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drawing.end("Erase" if self._erases else "Stroke")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        draws = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key in _MOVES:
            self._move(*_MOVES[key], draws=draws)
        elif key == Qt.Key.Key_Space:
            self._drawing.dot(self._centre())
        elif key == Qt.Key.Key_Backspace:
            self._drawing.dot(self._centre(), erases=True)
        elif key == Qt.Key.Key_Delete:
            self._drawing.clear()
        else:
            super().keyPressEvent(event)
            return
        self._describe()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Shift:
            # What was drawn while Shift was held is one step.
            self._drawing.end()
        super().keyReleaseEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._describe()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._drawing.end()
        super().focusOutEvent(event)

    def _move(self, down: int, right: int, *, draws: bool) -> None:
        if draws and not self._drawing.is_stroking:
            self._drawing.begin(self._centre())
        row, column = self._cursor
        self._cursor = min(max(row + down, 0), SIDE - 1), min(max(column + right, 0), SIDE - 1)
        if draws:
            self._drawing.extend(self._centre())
        self.update()

    def _describe(self) -> None:
        row, column = self._cursor
        ink = int(self._drawing.ink[row, column])
        here = f"Row {row}, column {column}: ink {ink} of 255."
        self.setAccessibleDescription(f"{here} {_KEYS}")

    def _centre(self) -> Point:
        row, column = self._cursor
        return column + 0.5, row + 0.5

    def _field(self) -> QRectF:
        side = self.cell_side * SIDE
        return QRectF((self.width() - side) // 2, (self.height() - side) // 2, side, side)

    def _rect(self, rows: range, columns: range) -> QRectF:
        field, side = self._field(), self.cell_side
        left, top = field.left() + columns.start * side, field.top() + rows.start * side
        return QRectF(left, top, len(columns) * side, len(rows) * side)

    def _point(self, position: QPointF) -> Point:
        field, side = self._field(), self.cell_side
        return (position.x() - field.left()) / side, (position.y() - field.top()) / side
