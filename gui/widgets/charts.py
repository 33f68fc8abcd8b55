"""Rows of bars, each a name, its parts and a figure; and what is painted as a picture file: PNG or SVG."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PySide6.QtCore import QBuffer, QEvent, QIODevice, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QHelpEvent,
    QPaintDevice,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.theme import current_theme, readable_text

_LINE_WIDTH = 2
_MIDDLE = int(Qt.AlignmentFlag.AlignVCenter)
_RIGHT = _MIDDLE | int(Qt.AlignmentFlag.AlignRight)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, or a part of one, from `begin` to `end` as shares of the chart's width, 0 to 1."""

    begin: float
    end: float
    colour: str
    text: str = ""  # in it, where it fits
    words: str = ""  # its tooltip
    stripe: str = ""  # a second colour, along its lower edge


@dataclass(frozen=True, slots=True)
class BarRow:
    """A name, its bars, and a figure at the end."""

    name: str
    bars: tuple[Bar, ...]
    figure: str = ""
    glyph: tuple[str, str] = ("", "")  # a shape before the name, and its colour
    is_quiet: bool = False
    is_strong: bool = False


# Where each stands, as a share of the chart's width, and its word.
Ticks = Sequence[tuple[float, str]]


class BarChart(QWidget):
    """Draws rows of a height with bars of a height, as high as its width needs.

    With `has_track` the ground of each bar is seen. `widest` is the longest figure that there can be: room is
    kept for it. Names take at most the share `names` of the width.
    """

    def __init__(
        self, name: str, row: int, bar: int, *, has_track: bool = False, widest: str = "", names: float = 0.4
    ) -> None:
        super().__init__(accessibleName=name)
        self.rows: Sequence[BarRow] = ()
        self.drawn: list[tuple[QRectF, Bar]] = []
        self._ticks: Ticks = ()
        self._line: float | None = None
        self._row, self._bar = row, bar
        self._has_track, self._widest, self._names = has_track, widest, names
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumSize(20 * GRID, row)

    def show_rows(
        self, rows: Sequence[BarRow], description: str = "", ticks: Ticks = (), line: float | None = None
    ) -> None:
        """Show rows; `description` is for screen readers, `line` the share where a line crosses all bars."""
        self.rows, self._ticks, self._line = rows, ticks, line
        named = "; ".join(f"{row.name} {row.figure}" for row in rows)
        self.setAccessibleDescription(description or named)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(38 * GRID, self.heightForWidth(38 * GRID))

    def heightForWidth(self, width: int) -> int:
        ticks = QFontMetrics(number_font()).height() if self._ticks else 0
        return len(self.rows) * self._row + ticks

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self.drawn:
            position = event.pos()
            words = next((bar.words for rect, bar in self.drawn if rect.contains(position)), "")
            QToolTip.showText(event.globalPos(), words or self.toolTip(), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        strong = QFont(number_font())
        strong.setBold(True)
        width_of = QFontMetrics(strong).horizontalAdvance
        most = int(self.width() * self._names)
        left = min(max((_glyph_width(row) + width_of(row.name) for row in self.rows), default=0) + GRID, most)
        figures = max(map(width_of, (self._widest, *(row.figure for row in self.rows))))
        right = figures + GRID if figures else 1
        field = QRectF(left, 0, max(1, self.width() - left - right), len(self.rows) * self._row)
        painter.setFont(number_font())
        self._paint_ticks(painter, field)
        self.drawn = []
        for at, row in enumerate(self.rows):
            painter.setFont(strong if row.is_strong else number_font())
            self._paint_row(painter, row, QRectF(left, at * self._row, field.width(), self._row))
        if self._line is not None:
            x = round(field.left() + field.width() * self._line)
            painter.setPen(QPen(QColor(current_theme().text), _LINE_WIDTH))
            painter.drawLine(x, 0, x, round(field.bottom()))
        if self.hasFocus():
            painter.setPen(QPen(QColor(current_theme().accent), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _paint_row(self, painter: QPainter, row: BarRow, area: QRectF) -> None:
        theme, metrics = current_theme(), painter.fontMetrics()
        glyph, colour = row.glyph
        painter.setPen(QColor(colour or theme.text))
        painter.drawText(QRectF(0, area.top(), 2 * GRID, area.height()), _MIDDLE, glyph)
        painter.setPen(QColor(theme.muted if row.is_quiet else theme.text))
        words = QRectF(_glyph_width(row), area.top(), area.left() - GRID - _glyph_width(row), area.height())
        name = metrics.elidedText(row.name, Qt.TextElideMode.ElideRight, int(words.width()))
        painter.drawText(words, _MIDDLE, name)
        painter.drawText(QRectF(0, area.top(), self.width(), area.height()), _RIGHT, row.figure)
        track = QRectF(area.left(), area.top() + (self._row - self._bar) / 2, area.width(), self._bar)
        if self._has_track:
            painter.fillRect(track, QColor(theme.raised))
        for bar in row.bars:
            left, width = track.left() + bar.begin * area.width(), (bar.end - bar.begin) * area.width()
            self._paint_bar(painter, bar, QRectF(left, track.top(), max(1.0, width), self._bar))

    def _paint_bar(self, painter: QPainter, bar: Bar, rect: QRectF) -> None:
        theme, colour = current_theme(), QColor(bar.colour)
        painter.fillRect(rect, colour)
        if not self._has_track and rect.width() > 3:
            painter.setPen(QPen(QColor(theme.base), 1))
            painter.drawRect(rect)
        if bar.text and rect.width() > painter.fontMetrics().horizontalAdvance(bar.text) + HALF_GRID:
            painter.setPen(readable_text(colour, theme))
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignCenter), bar.text)
        self.drawn.append((rect, bar))

    def _paint_ticks(self, painter: QPainter, field: QRectF) -> None:
        theme, metrics = current_theme(), painter.fontMetrics()
        free_to = float(self.width())
        # From the right, where the unit is: a word that would touch the next one is left out.
        for share, text in reversed(self._ticks):
            x, width = field.left() + field.width() * share, metrics.horizontalAdvance(text)
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawLine(round(x), round(field.top()), round(x), round(field.bottom()))
            begin = min(x - width / 2, float(self.width() - width))
            if begin + width <= free_to:
                painter.setPen(QColor(theme.muted))
                painter.drawText(QPoint(round(begin), round(field.bottom()) + metrics.ascent()), text)
                free_to = begin - HALF_GRID


def _glyph_width(row: BarRow) -> int:
    return 2 * GRID if row.glyph[0] else 0


FILTERS = ("PNG (*.png)", "SVG (*.svg)")
# Pixels for each of the screen's.
_SCALE = 2


class PaintedChart(NamedTuple):
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
