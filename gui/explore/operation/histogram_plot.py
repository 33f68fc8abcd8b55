"""A histogram as bars, a colour for each channel; painted by hand, as pyqtgraph takes 0.2 s to import."""

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QToolTip, QWidget

from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme

_NAMES = ("Red", "Green", "Blue")
# On light and on dark, each at least 3 : 1 against the plot's base.
_COLOURS = {"light": ("#b3202a", "#136a2e", "#0b5fc0"), "dark": ("#ff8a82", "#56c777", "#5aaaf5")}
_AXIS = 2 * GRID
_FILL_ALPHA = 90
_PAGE, _ALL = 16, 10**6
_STEPS = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_PageDown: _PAGE,
    Qt.Key.Key_PageUp: -_PAGE,
    Qt.Key.Key_Home: -_ALL,
    Qt.Key.Key_End: _ALL,
}
_KEYS = "Arrow keys read a bin, Page Up and Page Down go 16 on, Home and End to the ends."


class HistogramPlot(QWidget):
    """Counts by brightness, from black to white; on a square-root scale, as one full bin hides the others.

    The mouse and the arrow keys read single bins.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: tuple[tuple[int, ...], ...] = ()
        # Bin chosen by the arrow keys; None before the first.
        self._bin: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Histogram")
        self.setMinimumHeight(16 * GRID)

    def sizeHint(self) -> QSize:
        return QSize(32 * GRID, 20 * GRID)

    def show_counts(self, counts: tuple[tuple[int, ...], ...]) -> None:
        """Show the counts, a row for each channel."""
        if not counts or not self._counts or len(counts[0]) != len(self._counts[0]):
            self._bin = None
        self._counts = counts
        self._describe()
        self.update()

    def _describe(self) -> None:
        counts = self._counts
        total, bins = sum(map(sum, counts)), len(counts[0]) if counts else 0
        here = "" if self._bin is None else f"{self._words(self._bin)}. ".replace("\n", ", ")
        channels = f"{len(counts)} channel{'s' if len(counts) != 1 else ''}"
        self.setAccessibleDescription(f"{here}{total:,} samples in {bins} bins of {channels}. {_KEYS}")

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
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(area.adjusted(1, 1, -1, -1))
        if self._bin is not None and self._counts and self.hasFocus():
            self._paint_bin(painter, area, self._bin)
        painter.setPen(QColor(theme.muted))
        line = QRectF(area.left(), area.bottom() + 2, area.width(), _AXIS)
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, "black")
        painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, "white")
        most = "square root of counts"
        painter.drawText(line, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, most)
        painter.end()

    def _paint_bin(self, painter: QPainter, area: QRectF, at: int) -> None:
        """Mark the bin of the arrow keys, with what is in it on the side that has more room."""
        share = (at + 0.5) / len(self._counts[0])
        x = area.left() + share * area.width()
        painter.setPen(QPen(QColor(current_theme().text), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        beside = QRectF(area.topLeft(), QPointF(x, area.bottom()))
        side = Qt.AlignmentFlag.AlignRight
        if share < 0.5:
            beside, side = QRectF(QPointF(x, area.top()), area.bottomRight()), Qt.AlignmentFlag.AlignLeft
        room = beside.adjusted(HALF_GRID, HALF_GRID, -HALF_GRID, 0)
        painter.drawText(room, int(side | Qt.AlignmentFlag.AlignTop), self._words(at))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        area, x = self._area(), event.position().x()
        if self._counts and area.left() <= x < area.right():
            bins = len(self._counts[0])
            at = min(bins - 1, int((x - area.left()) / area.width() * bins))
            QToolTip.showText(event.globalPosition().toPoint(), self._words(at), self)
        super().mouseMoveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bins = len(self._counts[0]) if self._counts else 0
        steps = _STEPS.get(Qt.Key(event.key()))
        if not bins or steps is None:
            super().keyPressEvent(event)
            return
        # The first key only shows where it begins: in the first bin.
        at = 0 if self._bin is None and abs(steps) <= _PAGE else (self._bin or 0) + steps
        self._bin = min(max(at, 0), bins - 1)
        self._describe()
        self.update()

    def _words(self, at: int) -> str:
        """Return what is in a bin, a line per channel."""
        names = _NAMES if len(self._counts) == len(_NAMES) else [f"Channel {n}" for n in range(4)]
        lines = [f"{name}: {counts[at]:,}" for name, counts in zip(names, self._counts, strict=False)]
        if len(self._counts) == 1:
            count = self._counts[0][at]
            lines = [f"{count:,} sample{'s' if count != 1 else ''}"]
        return "\n".join([f"Bin {at} of {len(self._counts[0])}", *lines])

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
