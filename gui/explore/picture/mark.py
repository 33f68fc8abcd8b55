"""A frame around a rectangle of the picture, such as the best match of a patch."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from engine.tasks.operation.found import Mark
from gui.explore.picture.layers import Layer
from gui.explore.picture.view import ViewTransform
from gui.style.metrics import HALF_GRID
from gui.style.theme import current_theme

_WIDTH, _AROUND = 2.0, 5.0


def paint_mark(
    painter: QPainter,
    layer: Layer,
    mark: Mark,
    text: str,
    transform: ViewTransform,
    font: QFont,
    ratio: float,
) -> None:
    """Paint a mark on a layer with a painter that works in device pixels, `ratio` of them for one."""
    theme = current_theme()
    painter.save()
    painter.setClipRect(layer.clip)
    painter.translate(layer.pane.topLeft())
    left, top = transform.to_pane(mark.column, mark.row)
    frame = QRectF(left, top, mark.width * transform.zoom, mark.height * transform.zoom)
    # Beside the pixels, so that all of them are seen; dark around bright: seen on any picture.
    frame.adjust(-ratio, -ratio, ratio, ratio)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for width, colour in ((_AROUND, theme.base), (_WIDTH, theme.accent)):
        painter.setPen(QPen(QColor(colour), width * ratio, j=Qt.PenJoinStyle.MiterJoin))
        painter.drawRect(frame)
    if text:
        scaled = QFont(font)
        scaled.setPointSizeF(font.pointSizeF() * ratio)
        painter.setFont(scaled)
        step = HALF_GRID * ratio
        words = painter.fontMetrics().boundingRect(text)
        box = QRectF(0, 0, words.width() + 2 * step, words.height() + step)
        box.moveTopLeft(frame.bottomLeft())
        box.translate(0, step)
        if box.bottom() > layer.clip.bottom():
            box.moveBottom(frame.top() - step)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.raised))
        painter.drawRect(box)
        painter.setPen(QColor(theme.text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()
