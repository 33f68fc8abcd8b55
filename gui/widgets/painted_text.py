"""Words that delegates paint: cut with … where there is no room for them."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def paint_text(
    painter: QPainter, room: QRect, words: str, colour: QColor, where: Qt.AlignmentFlag = LEFT
) -> int:
    """Write words into a rectangle, and return their width."""
    painter.setPen(colour)
    shown = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, room.width())
    painter.drawText(room, where, shown)
    return painter.fontMetrics().horizontalAdvance(shown)
