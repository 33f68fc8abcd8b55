"""Handles on the picture: between original and result, and to drag the result into another program."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QDrag, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QApplication, QToolButton, QWidget

from gui.style.icons import icon
from gui.style.theme import current_theme
from gui.widgets.panel_parts import ICON_BUTTON_SIDE

WIDTH = 17
# Not in the middle, where the point of an impulse and the eye of a zone plate are.
_GRIP_PLACE = 0.75
_GRIP_HEIGHT = 40
_STEP = 0.01
_LARGE_STEP = 0.1


class SplitHandle(QWidget):
    """A vertical line with a grip over the picture; its place is a part of its parent's width."""

    moved = Signal(float)  # the new place, 0 (left edge) to 1

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pane = parent
        self.fraction = 0.5
        """Where the line is, as a part of the parent's width."""
        self._grabbed_at: float | None = None
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # Without a button the cursor belongs to the picture below, whose pixels are read.
        self.setMouseTracking(True)
        self.setToolTip(
            "Original left, result right. Drag, or use Left and Right (Shift: further, Home, End)."
        )
        self._describe()

    def set_fraction(self, fraction: float) -> None:
        fraction = min(max(fraction, 0.0), 1.0)
        if fraction != self.fraction:
            self.fraction = fraction
            self.update_position()
            self._describe()
            self.moved.emit(fraction)

    def update_position(self) -> None:
        """Lie where the fraction says in the parent as large as it is now."""
        middle = round(self.fraction * self._pane.width())
        self.setGeometry(middle - WIDTH // 2, 0, WIDTH, self._pane.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = WIDTH // 2 + 0.5
        # A dark line with a light core can be seen on any picture.
        for pen in (QPen(QColor(0, 0, 0, 160), 3), QPen(QColor("#ffffff"), 1)):
            painter.setPen(pen)
            painter.drawLine(QPointF(middle, 0), QPointF(middle, self.height()))
        centre = self.height() * _GRIP_PLACE
        grip = QRectF(0.5, centre - _GRIP_HEIGHT / 2.0, WIDTH - 1, _GRIP_HEIGHT)
        colour, width = (theme.accent, 2) if self.hasFocus() else (theme.line, 1)
        painter.setPen(QPen(QColor(colour), width))
        painter.setBrush(QColor(theme.raised))
        painter.drawRoundedRect(grip.adjusted(1, 1, -1, -1), 5, 5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.text))
        for side in (-1.0, 1.0):
            tip, back = middle + side * 5.5, middle + side * 1.8
            corners = (tip, centre), (back, centre - 4), (back, centre + 4)
            painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        self._grabbed_at = event.position().x() - WIDTH // 2

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grabbed_at is None:
            event.ignore()
            return
        x = self.mapToParent(event.position()).x() - self._grabbed_at
        self.set_fraction(x / max(1, self._pane.width()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grabbed_at = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step, keys = _LARGE_STEP if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else _STEP, Qt.Key
        steps = {keys.Key_Left: -step, keys.Key_Right: step, keys.Key_Home: -1.0, keys.Key_End: 1.0}
        if (by := steps.get(Qt.Key(event.key()))) is None:
            super().keyPressEvent(event)
        else:
            self.set_fraction(self.fraction + by)

    def _describe(self) -> None:
        self.setAccessibleName("Split handle")
        self.setAccessibleDescription(f"Original on the left {100 * self.fraction:.0f} %, result on the rest")


_TIP = (
    "Drag the result from here into a folder or another program: it is a PNG file there.\n"
    "A click copies it as a picture (Ctrl+Alt+C)."
)
_ICON_SIDE = 18


class DragHandle(QToolButton):
    """A button that can also be dragged."""

    dragged = Signal()  # the mouse left it with its button down, once for each press

    def __init__(self) -> None:
        super().__init__(autoRaise=True)
        self.setObjectName("dragHandle")
        self._pressed_at: QPointF | None = None
        self.setAccessibleName("Drag or copy the result")
        self.setToolTip(_TIP)
        self.setIcon(icon("drag"))
        self.setIconSize(QSize(_ICON_SIDE, _ICON_SIDE))
        self.setFixedSize(ICON_BUTTON_SIDE, ICON_BUTTON_SIDE)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        self.setCursor(Qt.CursorShape.OpenHandCursor)

    def run_drag(self, drag: QDrag) -> None:
        """Drag until the button is released."""
        drag.exec(Qt.DropAction.CopyAction)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed_at = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        # Not the button's own, which is up again as soon as the mouse leaves it.
        if self._pressed_at is None:
            return
        way = (event.position() - self._pressed_at).manhattanLength()
        if way >= QApplication.startDragDistance():
            self._pressed_at = None
            self.dragged.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_dragged, self._pressed_at = self._pressed_at is None, None
        if was_dragged:
            # Too early for the file: neither a drag nor a click.
            self.setDown(False)
        else:
            super().mouseReleaseEvent(event)
