"""What the window shows while files are dragged over it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.style.metrics import GRID
from gui.style.theme import current_theme

_SCALE = 1.5


class DropHighlight(QWidget):
    """A frame over its parent while files are dragged over it; the mouse does not see it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(theme.base)
        veil.setAlphaF(0.88)
        painter.fillRect(self.rect(), veil)
        painter.setPen(QPen(QColor(theme.accent), 3, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(self.rect().adjusted(GRID, GRID, -GRID, -GRID), GRID, GRID)
        painter.setPen(QColor(theme.text))
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * _SCALE)
        painter.setFont(font)
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "Drop to open")
