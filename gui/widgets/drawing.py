"""What is painted, to be copied or saved as a picture of a size of its own: PNG or SVG."""

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QBuffer, QIODevice, QPoint, QRect, QSize
from PySide6.QtGui import QPaintDevice, QPainter, QPixmap
from PySide6.QtSvg import QSvgGenerator

FILTERS = ("PNG (*.png)", "SVG (*.svg)")
# Pixels for each of the screen's.
_SCALE = 2


class Drawing(NamedTuple):
    """What `paint` paints, in pixels of the screen."""

    title: str
    size: QSize
    paint: Callable[[QPainter], None]

    def pixmap(self) -> QPixmap:
        """Return it with two pixels for each of the screen's."""
        made = QPixmap(self.size * _SCALE)
        made.setDevicePixelRatio(_SCALE)
        self._paint_on(made)
        return made

    def file(self, suffix: str) -> bytes:
        """Return it as a file of the form that the suffix says: .svg, else PNG."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        if suffix.lower() == ".svg":
            made = QSvgGenerator()
            made.setOutputDevice(buffer)
            made.setSize(self.size)
            made.setViewBox(QRect(QPoint(), self.size))
            made.setTitle(self.title)
            self._paint_on(made)
        else:
            self.pixmap().save(buffer, "PNG")
        return bytes(buffer.data().data())

    def _paint_on(self, device: QPaintDevice) -> None:
        painter = QPainter(device)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.paint(painter)
        painter.end()
