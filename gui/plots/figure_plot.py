"""A figure of a paper: its curves as this machine gives them, and dashed as the paper printed them."""

import math
from collections.abc import Sequence
from html import escape

import pyqtgraph as pg
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QLabel, QWidget

from engine.course.paper import Figure
from engine.course.paper import Series as Curve
from gui.plots.log_axis import LogAxis, colour_plot, make_still, text_over
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.series import Series, series_at, series_for
from gui.style.theme import Theme, current_theme, theme_notifier
from gui.widgets.legend import LegendEntry, legend_html
from gui.widgets.panel_parts import column

# From there on sizes such as 256 to 10240 crowd at the left of a linear axis.
_LOG_FROM_RATIO = 8.0
_MARK_SIZE = 9
_ROOM = 0.08
_PAPER = "paper"
# A curve, how it is drawn, and whether the paper printed it.
_Drawn = tuple[Curve, Series, bool]
_EMPTY = "Nothing to draw yet: measure this paper's tables on this machine."


class FigurePlot(QWidget):
    """Draws a Figure; its numbers are in the table beside it and in the accessible description.

    `empty` says what will be here and how to fill it, `dashed` what the dashed curves (`Figure.printed`) are.
    """

    def __init__(self, *, empty: str = _EMPTY, dashed: str = _PAPER) -> None:
        super().__init__()
        self._empty = empty
        self._dashed = dashed
        self._figure: Figure | None = None
        self._x_is_log = False
        self._left = LogAxis(_number, "left", is_log=False)
        self._bottom = pg.AxisItem("bottom")
        self.caption = QLabel()
        self.plot = pg.PlotWidget(axisItems={"left": self._left, "bottom": self._bottom})
        self.empty_text = text_over(self.plot, empty)
        self._build()
        self.plot.getViewBox().sigResized.connect(self._place_ticks)
        theme_notifier().changed.connect(self._redraw)

    def show_figure(self, figure: Figure | None, dashed: str = "") -> None:
        """Draw a figure, or none; `dashed` says what its dashed curves are, if not what the plot says."""
        dashed = dashed or self._dashed
        if (figure, dashed) != (self._figure, self._dashed):
            self._figure, self._dashed = figure, dashed
            self._redraw()

    def sizeHint(self) -> QSize:
        return QSize(52 * GRID, 32 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(30 * GRID, 16 * GRID)

    def _redraw(self) -> None:
        theme, figure = current_theme(), self._figure
        self.plot.clear()
        colour_plot(self.plot, theme)
        curves = _curves(figure, theme) if figure else []
        drawn = [one for one in curves if figure and _points(one[0], above_zero=figure.log_y)]
        self.empty_text.setVisible(not drawn)
        for axis in (self._left, self._bottom):
            axis.setVisible(bool(drawn))
        self.caption.setText(_legend(figure, drawn, theme, self._dashed) if figure else "")
        self.setAccessibleName(figure.title if figure else "Figure of the paper")
        self.setAccessibleDescription(
            ". ".join(_accessible_text(*one, self._dashed) for one in drawn) or self._empty
        )
        if figure and drawn:
            self._draw(figure, drawn, theme)

    def _draw(self, figure: Figure, drawn: Sequence[_Drawn], theme: Theme) -> None:
        xs = [x for curve, _, _ in drawn for x, _ in _points(curve)]
        self._x_is_log = min(xs) > 0 and max(xs) / min(xs) >= _LOG_FROM_RATIO
        self._left.is_log = figure.log_y
        heights: list[float] = []
        for curve, series, is_printed in drawn:
            points = [
                (self._at(x), math.log10(y) if figure.log_y else y)
                for x, y in _points(curve, above_zero=figure.log_y)
            ]
            heights += [y for _, y in points]
            self._add(points, series, theme, is_printed)
        low, high = (min(heights) - 0.1, max(heights) + 0.1) if figure.log_y else (0.0, max(heights) * 1.08)
        # One value alone, or only zeros, still has an axis.
        self.plot.setYRange(low, max(high, low + 1e-9), padding=0)
        ends = self._at(min(xs)), self._at(max(xs))
        room = max(ends[1] - ends[0], 1e-9) * _ROOM
        self.plot.setXRange(ends[0] - room, ends[1] + room, padding=0)
        self._left.setLabel(figure.y_label)
        self._bottom.setLabel(figure.x_label)
        self._place_ticks()

    def _add(
        self, points: Sequence[tuple[float, float]], series: Series, theme: Theme, is_printed: bool
    ) -> None:
        style = Qt.PenStyle.DashLine if is_printed else Qt.PenStyle.SolidLine
        curve = pg.PlotDataItem(
            *zip(*points, strict=True),
            pen=pg.mkPen(series.colour, width=1 if is_printed else 2, style=style),
            symbol=series.symbol,
            symbolSize=_MARK_SIZE,
            symbolBrush=pg.mkBrush(theme.base if is_printed else series.colour),
            symbolPen=pg.mkPen(series.colour),
        )
        self.plot.addItem(curve)

    def _at(self, x: float) -> float:
        return math.log10(x) if self._x_is_log else x

    def _place_ticks(self) -> None:
        """Write the sizes that were measured under the axis, as many as there is room for."""
        figure = self._figure
        if figure is None:
            return
        box = self.plot.getViewBox()
        (low, high), _ = box.viewRange()
        pixels = max(1.0, box.width()) / max(high - low, 1e-9)
        metrics = QFontMetrics(number_font())
        ticks: list[tuple[float, str]] = []
        free_from = -math.inf
        for x in sorted({x for curve in (*figure.series, *figure.printed) for x, _ in _points(curve)}):
            text = f"{x:g}"
            half = metrics.horizontalAdvance(text) / 2
            centre = self._at(x) * pixels
            if centre - half >= free_from:
                ticks.append((self._at(x), text))
                free_from = centre + half + GRID
        self._bottom.setTicks([ticks])

    def _build(self) -> None:
        make_still(self.plot)
        for axis in (self._left, self._bottom):
            axis.setGrid(40)
        # Otherwise the first and the last size have no word where half of it would lie outside.
        self._bottom.setStyle(hideOverlappingLabels=False)
        self.caption.setTextFormat(Qt.TextFormat.RichText)
        self.caption.setWordWrap(True)
        self.caption.setContentsMargins(GRID, 0, GRID, 0)
        self.setLayout(column(self.caption, (self.plot, 1), spacing=HALF_GRID, margins=(0, HALF_GRID, 0, 0)))


def _curves(figure: Figure, theme: Theme) -> list[_Drawn]:
    """Return every curve with its colour and shape, which a printed one shares with the measured one."""
    names = list(dict.fromkeys(curve.name for curve in (*figure.series, *figure.printed)))

    def look(curve: Curve) -> Series:
        variant = next((one.variant for one in figure.series if one.name == curve.name), curve.variant)
        return series_for(variant, theme) if variant else series_at(names.index(curve.name), theme)

    both = ((figure.printed, True), (figure.series, False))
    return [(curve, look(curve), is_printed) for curves, is_printed in both for curve in curves]


def _points(curve: Curve, *, above_zero: bool = False) -> list[tuple[float, float]]:
    values = zip(curve.x, curve.y, strict=True)
    points = [(x, y) for x, y in values if y is not None and math.isfinite(y)]
    return [(x, y) for x, y in points if y > 0 or not above_zero]


def _legend(figure: Figure, drawn: Sequence[_Drawn], theme: Theme, dashed: str) -> str:
    """Return the figure's title and its curves, each with its shape in its colour."""
    looks = {curve.name: series for curve, series, _ in drawn}
    marks = legend_html(LegendEntry(name, look.colour, look.glyph) for name, look in looks.items())
    sides = frozenset(is_printed for _, _, is_printed in drawn)
    meaning = {
        frozenset((True, False)): f"solid: here, dashed: {dashed}",
        frozenset((True,)): f"dashed: {dashed}",
        frozenset((False,)): "here",
    }.get(sides, "")
    quiet = f"&nbsp;&nbsp; <span style='color:{theme.muted}'>{meaning.replace(' ', '&nbsp;')}</span>"
    return f"<b>{escape(figure.title)}</b><br>{marks}{quiet if meaning else ''}"


def _accessible_text(curve: Curve, _series: Series, is_printed: bool, dashed: str) -> str:
    values = ", ".join(f"{x:g}: {_number(y)}" for x, y in _points(curve))
    printed = "as printed" if dashed == _PAPER else dashed
    return f"{curve.name} {printed if is_printed else 'here'}: {values}"


def _number(value: float) -> str:
    # Never 1e+04.
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.4g}"
