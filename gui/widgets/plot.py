"""A plot that is only read, with an axis to its left and one below; and a figure of a paper in one."""

import math
import sys
from collections.abc import Callable, Sequence
from html import escape
from types import ModuleType

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QGraphicsGridLayout, QLabel, QSizePolicy, QWidget

from engine.course.paper import Figure
from engine.course.paper import Series as Curve
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.theme import Theme, VariantStyle, current_theme, series_at, series_for, theme_notifier
from gui.widgets.labels import LegendEntry, legend_html
from gui.widgets.panel_parts import centred_text, column

# A widget that nothing here uses, for which pyqtgraph loads CUDA's bindings: 12 MB of the window.
sys.modules.setdefault("pyqtgraph.widgets.RawImageWidget", ModuleType("not loaded"))

import pyqtgraph as pg  # noqa: E402

__all__ = ["pg"]
_MANTISSAS = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))
_MOST_TICKS = 7
# Half of the longest word of a tick, which may be written to the left of where the axis begins.
_WORD_SPACE = 3 * GRID


class Plot(pg.GraphicsView):
    """Takes neither wheel, focus nor drops: nothing can be panned, and the window takes files.

    It has no form of 60 controls behind a menu, nor buttons, titles and averages, as pyqtgraph's `PlotWidget`
    has: that takes three times as long to make, and 8 ms is much where a panel has three plots.
    """

    def __init__(self, left: pg.AxisItem | None = None, bottom: pg.AxisItem | None = None) -> None:
        super().__init__()
        self.box = pg.ViewBox(enableMouse=False, enableMenu=False)
        self.axes = self.left, self.bottom = left or pg.AxisItem("left"), bottom or pg.AxisItem("bottom")
        self.drawn: list[pg.GraphicsItem] = []
        self.whole = pg.GraphicsWidget()
        self._grid = QGraphicsGridLayout()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # Qt warned of a drag that left the plot and had begun elsewhere.
        for widget in (self, self.viewport()):
            widget.setAcceptDrops(False)
        self._grid.setSpacing(0)
        self.set_margins(GRID, HALF_GRID, GRID, HALF_GRID)
        self.whole.setLayout(self._grid)
        for item, row, position in ((self.box, 0, 1), (self.left, 0, 0), (self.bottom, 1, 1)):
            self._grid.addItem(item, row, position)
        self._grid.setRowStretchFactor(0, 100)
        self._grid.setColumnStretchFactor(1, 100)
        for axis in self.axes:
            axis.linkToView(self.box)
            # Otherwise pyqtgraph writes a factor such as (x0.001) beside the label.
            axis.enableAutoSIPrefix(False)
            # Its grid lies over a picture, and under what is drawn at 1.
            axis.setZValue(0.5)
        self.box.disableAutoRange()
        self.setCentralItem(self.whole)

    def draw(self, item: pg.GraphicsItem) -> None:
        """Add a curve, marks, a line or words."""
        self.drawn.append(item)
        self.box.addItem(item, ignoreBounds=isinstance(item, pg.TextItem))

    def clear(self) -> None:
        for item in self.drawn:
            self.box.removeItem(item)
        self.drawn = []

    def show_range(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.box.setRange(xRange=x, yRange=y, padding=0)

    def colour(self, theme: Theme) -> None:
        self.setBackground(theme.base)
        for axis in self.axes:
            axis.setPen(pg.mkPen(theme.line))
            axis.setTextPen(pg.mkPen(theme.muted))
            axis.setTickFont(number_font())

    def set_margins(self, left: int, top: int, right: int, bottom: int) -> None:
        self._grid.setContentsMargins(left, top, right, bottom)


def text_over(plot: QWidget, text: str = "") -> QLabel:
    """Return a quiet text that fills a plot, for as long as there is nothing to draw."""
    label = centred_text(text)
    plot.setLayout(column(label, margins=(2 * GRID, GRID, 2 * GRID, GRID)))
    return label


class LogAxis(pg.AxisItem):
    """An axis of log10 of a value, while `is_log`, with ticks at round values and a word for each."""

    def __init__(self, text: Callable[[float], str], side: str = "bottom", *, is_log: bool = True) -> None:
        super().__init__(side)
        self.is_log, self._text = is_log, text

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803
        if not self.is_log:
            plain: list[tuple[float, list[float]]] = super().tickValues(minVal, maxVal, size)
            return plain[:1]
        return [(1.0, log_ticks(minVal, maxVal, min(_MOST_TICKS, max(2, int(size / (7 * GRID))))))]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        return [self._text(10**value if self.is_log else value) for value in values]

    def boundingRect(self) -> QRectF:
        # Otherwise the first tick has no word where half of it would lie outside; with a grid, pyqtgraph's
        # own style `hideOverlappingLabels` changes nothing.
        rect: QRectF = super().boundingRect()
        return rect.adjusted(-_WORD_SPACE, 0, 0, 0) if self.orientation == "bottom" else rect


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return log10 of round values between 10**low and 10**high, at most `most` of them."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    denser: list[float] = []
    for mantissas in _MANTISSAS:
        ticks = [decade + math.log10(mantissa) for decade in decades for mantissa in mantissas]
        inside = [tick for tick in ticks if low <= tick <= high]
        # One tick alone is no scale.
        if len(inside) <= min(1, most - 1) and denser:
            return denser[:: math.ceil(len(denser) / most)]
        if len(inside) <= most:
            return inside
        denser = inside
    return inside[:: math.ceil(len(inside) / most)]


# From there on sizes such as 256 to 10240 crowd at the left of a linear axis.
_LOG_FROM_RATIO = 8.0
_MARK_SIZE, _SMALL_MARK_SIZE = 9, 6
_MARGIN = 0.08
_PAPER = "paper"
# A curve, how it is drawn, and whether the paper printed it.
_Drawn = tuple[Curve, VariantStyle, bool]
_EMPTY = "Nothing to draw yet: the figure shows what this machine measured. Press Run (Ctrl+R)."


def number_text(value: float) -> str:
    """Write a value on an axis, never as 1e+04."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.4g}"


class FigurePlot(QWidget):
    """Draws a Figure, and tells it in the accessible description; `empty` says what will be here."""

    def __init__(self, empty: str = _EMPTY) -> None:
        super().__init__()
        self._dashed = _PAPER
        self._figure: Figure | None = None
        self._x_is_log = False
        self._left = LogAxis(number_text, "left", is_log=False)
        self._bottom = pg.AxisItem("bottom")
        self.caption = QLabel(textFormat=Qt.TextFormat.RichText, wordWrap=True)
        self.plot = Plot(self._left, self._bottom)
        self.empty_text = text_over(self.plot, empty)
        for axis in self.plot.axes:
            axis.setGrid(40)
        # Otherwise the first and the last size have no word where half of it would lie outside.
        self._bottom.setStyle(hideOverlappingLabels=False)
        self.caption.setContentsMargins(GRID, 0, GRID, 0)
        self.setLayout(column(self.caption, (self.plot, 1), spacing=HALF_GRID, margins=(0, HALF_GRID, 0, 0)))
        self.setMinimumSize(30 * GRID, 16 * GRID)
        self.plot.box.sigResized.connect(self._place_ticks)
        theme_notifier().changed.connect(self._redraw)

    def show_figure(self, figure: Figure | None, dashed: str = "") -> None:
        """Draw a figure, or none; `dashed` says what its dashed curves are, if they are not the paper's."""
        dashed = dashed or _PAPER
        if (figure, dashed) != (self._figure, self._dashed):
            self._figure, self._dashed = figure, dashed
            self._redraw()

    def _redraw(self) -> None:
        theme, figure = current_theme(), self._figure
        self.plot.clear()
        self.plot.colour(theme)
        curves = _curves(figure, theme) if figure else []
        drawn = [one for one in curves if figure and _points(one[0], above_zero=figure.log_y)]
        self.empty_text.setVisible(not drawn)
        for axis in self.plot.axes:
            axis.setVisible(bool(drawn))
        self.caption.setText(self._legend(figure, drawn, theme) if figure else "")
        self.caption.setVisible(bool(figure))
        self.setAccessibleName(figure.title if figure else "Figure of the paper")
        printed = "as printed" if self._dashed == _PAPER else self._dashed
        heard = ". ".join(
            f"{curve.name} {printed if is_printed else 'here'}: "
            + ", ".join(f"{x:g}: {number_text(y)}" for x, y in _points(curve))
            for curve, _, is_printed in drawn
        )
        self.setAccessibleDescription(heard or self.empty_text.text().replace("\n", " "))
        if figure and drawn:
            self._draw(figure, drawn, theme)

    def _draw(self, figure: Figure, drawn: Sequence[_Drawn], theme: Theme) -> None:
        xs = [x for curve, _, _ in drawn for x, _ in _points(curve)]
        self._x_is_log = min(xs) > 0 and max(xs) / min(xs) >= _LOG_FROM_RATIO
        self._left.is_log = figure.log_y
        # Marks that overlap are no marks.
        most = max(len(curve.x) for curve, _, _ in drawn)
        size = _SMALL_MARK_SIZE if self.plot.width() / most < 2 * _MARK_SIZE else _MARK_SIZE
        heights: list[float] = []
        spots = []
        for curve, series, is_printed in drawn:
            values = _points(curve, above_zero=figure.log_y)
            points = [self._place(*value) for value in values]
            heights += [y for _, y in points]
            style = Qt.PenStyle.DashLine if is_printed else Qt.PenStyle.SolidLine
            pen = pg.mkPen(series.colour, width=1 if is_printed else 2, style=style)
            line = np.array(points).T
            self.plot.draw(pg.PlotCurveItem(*line, pen=pen, antialias=True))
            # Marks with the same pen and brush are rendered once.
            mark = {"symbol": series.symbol, "size": size, "pen": pg.mkPen(series.colour)}
            mark["brush"] = pg.mkBrush(theme.base if is_printed else series.colour)
            about = ((curve.name, *value) for value in values)
            spots += [{"pos": at, "data": data, **mark} for at, data in zip(points, about, strict=True)]
        # One item for all marks: each costs about 0.5 ms when the plot is drawn anew.
        self.plot.draw(pg.ScatterPlotItem(spots=spots, hoverable=True, tip=self._tip))
        low, high = (min(heights) - 0.1, max(heights) + 0.1) if figure.log_y else (0.0, max(heights) * 1.08)
        # One value alone, or only zeros, still has an axis.
        ends = self._at(min(xs)), self._at(max(xs))
        margin = max(ends[1] - ends[0], 1e-9) * _MARGIN
        self.plot.show_range((ends[0] - margin, ends[1] + margin), (low, max(high, low + 1e-9)))
        self._left.setLabel(figure.y_label)
        self._bottom.setLabel(figure.x_label)
        self._place_ticks()

    def _tip(self, x: float, y: float, data: tuple[str, float, float]) -> str:
        name, at, value = data
        return f"{name}, {at:g}: {number_text(value)}"

    def _place(self, x: float, y: float) -> tuple[float, float]:
        return self._at(x), math.log10(y) if self._left.is_log else y

    def _at(self, x: float) -> float:
        return math.log10(x) if self._x_is_log else x

    def _place_ticks(self) -> None:
        """Write the sizes that were measured under the axis, as many as there is room for."""
        figure = self._figure
        if figure is None:
            return
        box = self.plot.box
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

    def _legend(self, figure: Figure, drawn: Sequence[_Drawn], theme: Theme) -> str:
        looks = {curve.name: series for curve, series, _ in drawn}
        entries = [LegendEntry(name, look.colour, look.glyph) for name, look in looks.items()]
        dashed, sides = self._dashed, frozenset(is_printed for _, _, is_printed in drawn)
        meaning = {
            frozenset((True, False)): f"solid: here, dashed: {dashed}",
            frozenset((True,)): f"dashed: {dashed}",
            frozenset((False,)): "here",
        }.get(sides if dashed else frozenset(), "")
        quiet = f"&nbsp;&nbsp; <span style='color:{theme.muted}'>{meaning}</span>"
        title = f"<b>{escape(figure.title)}</b><br>" if figure.title else ""
        return f"{title}{legend_html(entries)}{quiet if meaning else ''}"


def _curves(figure: Figure, theme: Theme) -> list[_Drawn]:
    """Return every curve with its colour and shape, which a printed one shares with the measured one."""
    names = list(dict.fromkeys(curve.name for curve in (*figure.series, *figure.printed)))

    def look(curve: Curve) -> VariantStyle:
        variant = next((one.variant for one in figure.series if one.name == curve.name), curve.variant)
        return series_for(variant, theme) if variant else series_at(names.index(curve.name), theme)

    both = ((figure.printed, True), (figure.series, False))
    return [(curve, look(curve), is_printed) for curves, is_printed in both for curve in curves]


def _points(curve: Curve, *, above_zero: bool = False) -> list[tuple[float, float]]:
    values = zip(curve.x, curve.y, strict=True)
    points = [(x, y) for x, y in values if y is not None and math.isfinite(y)]
    return [(x, y) for x, y in points if y > 0 or not above_zero]
