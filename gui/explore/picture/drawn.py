"""What is drawn on the picture with the mouse: a region, or a line. No widgets in here."""

from enum import StrEnum
from typing import NamedTuple

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from engine.verify.regions import Region
from gui.explore.picture.layers import Layer
from gui.explore.picture.view import ViewTransform
from gui.style.theme import current_theme

Pixel = tuple[int, int]

_WIDTH, _AROUND = 1.5, 4.0


class Drawing(StrEnum):
    """What dragging over the picture does."""

    PAN = "pan"
    REGION = "region"
    LINE = "line"


class Line(NamedTuple):
    """A straight line between two pixels (row, column), both on it."""

    first: Pixel
    last: Pixel


def region_between(one: Pixel, other: Pixel) -> Region:
    """Return the rectangle with these pixels as corners, both in it."""
    (top, bottom), (left, right) = (sorted(ends) for ends in zip(one, other, strict=True))
    return Region(top, bottom + 1, left, right + 1)


def paint_region(painter: QPainter, layer: Layer, region: Region, at: ViewTransform, ratio: float) -> None:
    """Paint the frame of a region: dashes, dark around bright, so that they are seen on any picture."""
    left, top = at.to_pane(region.left, region.top)
    right, bottom = at.to_pane(region.right, region.bottom)
    frame = QRectF(left, top, right - left, bottom - top)
    painter.save()
    painter.setClipRect(layer.clip)
    painter.translate(layer.pane.topLeft())
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in _pens(ratio, Qt.PenStyle.DashLine):
        painter.setPen(pen)
        painter.drawRect(frame)
    painter.restore()


def paint_line(painter: QPainter, layer: Layer, line: Line, at: ViewTransform, ratio: float) -> None:
    """Paint a line from the middle of one pixel to that of the other."""
    ends = [at.to_pane(column + 0.5, row + 0.5) for row, column in line]
    painter.save()
    painter.setClipRect(layer.clip)
    painter.translate(layer.pane.topLeft())
    for pen in _pens(ratio, Qt.PenStyle.SolidLine):
        painter.setPen(pen)
        painter.drawLine(QLineF(*ends[0], *ends[1]))
    painter.restore()


def _pens(ratio: float, style: Qt.PenStyle) -> tuple[QPen, QPen]:
    theme = current_theme()
    around = QPen(QColor(theme.base), _AROUND * ratio)
    return around, QPen(QColor(theme.accent), _WIDTH * ratio, style)
