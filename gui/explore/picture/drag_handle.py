"""The handle by which the result is dragged into another program."""

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication, QToolButton

from gui.style.icons import icon
from gui.widgets.panel_parts import ICON_BUTTON_SIDE

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
