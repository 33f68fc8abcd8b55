"""A histogram as bars, a colour for each channel; painted by hand, as pyqtgraph takes 0.2 s to import."""

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QToolTip, QWidget

from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme, theme_notifier

_NAMES = ("Red", "Green", "Blue")
# On light and on dark, each at least 3 : 1 against the plot's base.
_COLOURS = {"light": ("#b3202a", "#136a2e", "#0b5fc0"), "dark": ("#ff8a82", "#56c777", "#5aaaf5")}
_AXIS = 2 * GRID
_FILL_ALPHA = 90


class HistogramPlot(QWidget):
    """Counts by brightness, from black to white; on a square-root scale, as one full bin hides the others."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: tuple[tuple[int, ...], ...] = ()
        self.setMouseTracking(True)
        self.setAccessibleName("Histogram")
        self.setMinimumHeight(16 * GRID)
        theme_notifier().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(32 * GRID, 20 * GRID)

    def show_counts(self, counts: tuple[tuple[int, ...], ...]) -> None:
        """Show the counts, a row for each channel."""
        self._counts = counts
        total = sum(map(sum, counts))
        bins = len(counts[0]) if counts else 0
        self.setAccessibleDescription(f"{total:,} samples in {bins} bins of {len(counts)} channels")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self._area())
        painter.fillRect(area, QColor(theme.base))
        painter.setFont(small_font())
        highest = max((max(counts) for counts in self._counts), default=0)
        for number, counts in enumerate(self._counts):
            colour = QColor(self._colour(number))
            painter.setPen(QPen(colour, 1.25))
            fill = QColor(colour)
            fill.setAlpha(_FILL_ALPHA)
            painter.setBrush(fill)
            painter.drawPolygon(_outline(counts, max(1, highest), area))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QColor(theme.outline))
        painter.drawRect(area)
        painter.setPen(QColor(theme.muted))
        line = QRectF(area.left(), area.bottom() + 2, area.width(), _AXIS)
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, "0")
        painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, "white")
        most = "square root of counts"
        painter.drawText(line, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, most)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        area, x = self._area(), event.position().x()
        if self._counts and area.left() <= x < area.right():
            bins = len(self._counts[0])
            at = min(bins - 1, int((x - area.left()) / area.width() * bins))
            names = _NAMES if len(self._counts) == len(_NAMES) else [f"Channel {n}" for n in range(4)]
            lines = [f"{name}: {counts[at]:,}" for name, counts in zip(names, self._counts, strict=False)]
            if len(self._counts) == 1:
                lines = [f"{self._counts[0][at]:,} samples"]
            text = "\n".join([f"Bin {at} of {bins}", *lines])
            QToolTip.showText(event.globalPosition().toPoint(), text, self)
        super().mouseMoveEvent(event)

    def _area(self) -> QRectF:
        return QRectF(0.5, 0.5, self.width() - 1.0, max(1.0, self.height() - _AXIS - HALF_GRID))

    def _colour(self, channel: int) -> str:
        theme = current_theme()
        if len(self._counts) < len(_NAMES) or channel >= len(_NAMES):
            return theme.text
        return _COLOURS[theme.name][channel]


def _outline(counts: tuple[int, ...], highest: int, area: QRectF) -> QPolygonF:
    step, points = area.width() / len(counts), [QPointF(area.left(), area.bottom())]
    for at, count in enumerate(counts):
        height = area.bottom() - math.sqrt(count / highest) * (area.height() - HALF_GRID)
        points += [QPointF(area.left() + at * step, height), QPointF(area.left() + (at + 1) * step, height)]
    points.append(QPointF(area.right(), area.bottom()))
    return QPolygonF(points)
