"""The panel Roofline: the runs of a device under its roofs. A click selects one, a button saves all."""

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QPushButton, QWidget

from engine.results.text_forms import rate_text
from gui.explore.explain.roofline_state import MEASURE, MEASURE_TIP, Point, Roof, RooflineState
from gui.explore.run_words import run_title
from gui.style.metrics import EARLIER_OPACITY, GRID, HALF_GRID, small_font
from gui.style.theme import current_theme, series_at, series_for, theme_notifier
from gui.widgets.charts import PaintedChart
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import PANEL_MARGINS, column, row, text_button
from gui.widgets.plot import LogAxis, Plot, pg, text_over

_RING_SIZE = 19
_MARK_SIZE = 11
# A star and two crossed bars look smaller than they measure.
_MARK_SIZES = {"star": 16, "x": 13, "+": 13, "d": 13}
_BESIDE_RING = "    "  # blanks before the name of a marked run: half a ring is as wide
# The plot reaches so many times further than corners and runs; above the flat roof may be its name.
_MARGIN_X, _MARGIN_BELOW, _MARGIN_ABOVE = 4.0, 2.5, 4.0
_FEWEST_DECADES = 1.0
# Of how many runs names are shown where there is room, and how much of its height a name needs alone.
_MOST_NAMES, _NAME_HEIGHT = 20, 0.6
_NARROW = 48 * GRID  # with less width names have no values beside them


class RooflinePlot(Plot):
    """Draws points under roofs; marked ones have rings, dashed from the second on; earlier ones are pale."""

    clicked = Signal(object)  # the Point

    def __init__(self, roofline: RooflineState) -> None:
        super().__init__(LogAxis(rate_text, "left"), LogAxis(rate_text))
        self._roofline = roofline
        self._roof_names: list[tuple[pg.TextItem, Roof, QPointF]] = []
        self._run_names: list[pg.TextItem] = []
        self.empty_text = text_over(self)
        for axis in self.axes:
            axis.setGrid(40)
        self.setAccessibleName("Roofline")
        # With the margins around it as wide as the plots that it lies behind.
        self.setMinimumSize(28 * GRID, 14 * GRID)
        theme_notifier().changed.connect(self.redraw)
        self.box.sigResized.connect(self._fit)

    def redraw(self) -> None:
        """Draw everything anew: there are few runs, and a change of theme affects all."""
        theme, points = current_theme(), self._roofline.points
        self.clear()
        self._roof_names, self._run_names = [], []
        self.colour(theme)
        for axis, label in zip(self.axes, ("GFLOPS", "operations per byte"), strict=True):
            axis.setVisible(bool(points))
            axis.setLabel(label, color=theme.muted)
        self.empty_text.setText(self._roofline.words)
        self.empty_text.setVisible(not points)
        self.setAccessibleDescription("; ".join(map(_heard, points)) or self._roofline.words)
        if not points:
            return
        ends = self._show_range()
        for at, roof in enumerate(self._roofline.roofs):
            self._draw_roof(roof, series_at(at, theme).colour, ends)
        self._draw_points()
        self._place_names()

    def _show_range(self) -> tuple[float, float]:
        """Show all runs and the corners of all roofs; return both ends of the axis below."""
        xs, ys = zip(*((point.intensity, point.gflops) for point in self._roofline.points), strict=True)
        flat = [roof.measured for roof in self._roofline.roofs if roof.is_flat]
        slopes = [roof.measured for roof in self._roofline.roofs if not roof.is_flat]
        xs = *xs, *(height / slope for height in flat for slope in slopes)
        low, high = min(xs) / _MARGIN_X, max(xs) * _MARGIN_X
        tallest = max([*ys, *flat])
        bottom = min([min(ys) / _MARGIN_BELOW, *(slope * low for slope in slopes)])
        below, above = _decades(bottom, tallest * _MARGIN_ABOVE)
        # In a low plot too the name above the highest roof is whole.
        letters, highest = QFontMetrics(small_font()).height(), math.log10(tallest)
        if (rest := self.box.height() - letters) > letters:
            above = max(above, highest + (highest - below) * letters / rest)
        self.show_range(_decades(low, high), (below, above))
        return low, high

    def _fit(self) -> None:
        if self._roofline.points:
            self._show_range()
        self._place_names()

    def _draw_roof(self, roof: Roof, colour: str, ends: tuple[float, float]) -> None:
        styles = (roof.measured, Qt.PenStyle.SolidLine), (roof.theoretical, Qt.PenStyle.DashLine)
        for value, style in styles:
            if value is None:
                continue
            is_stated = style is Qt.PenStyle.DashLine
            xs, ys = np.log10(self._line(roof, value, ends, is_stated=is_stated)).T.tolist()
            pen = pg.mkPen(colour, width=1 if is_stated else 2, style=style)
            self.draw(pg.PlotCurveItem(xs, ys, pen=pen, antialias=True))
            if not is_stated:
                # Theoretical roofs lie above; the name of the highest slope too, so that names never meet.
                highest = max(one.measured for one in self._roofline.roofs if not one.is_flat)
                is_above = roof.theoretical is None if roof.is_flat else roof.measured == highest
                # Beside its line it needs no colour, and is read on any ground.
                name = self._name(current_theme().text, (int(roof.is_flat), int(is_above)))
                at = -1 if roof.is_flat else 0
                name.setPos(xs[at], ys[at])
                self._roof_names.append((name, roof, name.pos()))

    def _line(
        self, roof: Roof, value: float, ends: tuple[float, float], *, is_stated: bool
    ) -> list[tuple[float, float]]:
        """Return a roof's line: a slope ends at the flat roof, which begins at the first corner."""
        others = (other for other in self._roofline.roofs if other.is_flat is not roof.is_flat)
        values = [other.theoretical or other.measured if is_stated else other.measured for other in others]
        low, high = ends
        if roof.is_flat:
            return [(value / max(values), value), (high, value)]
        end = min(values) / value
        return [(low, value * low), (end, value * end)]

    def _draw_points(self) -> None:
        theme, styles, state = current_theme(), Qt.PenStyle, self._roofline
        for at, point in enumerate(state.marked):
            ring = pg.mkPen(theme.text, width=1.5, style=styles.DotLine if at else styles.SolidLine)
            place = [math.log10(point.intensity)], [math.log10(point.gflops)]
            self.draw(pg.ScatterPlotItem(*place, symbol="o", size=_RING_SIZE, pen=ring, brush=None))
        # One item for all of a kind: each costs about 0.5 ms when the plot is drawn anew.
        for is_pale, opacity in ((True, EARLIER_OPACITY), (False, 1.0)):
            points = [one for one in state.points if state.results.is_earlier(one.run.result) is is_pale]
            series = [series_for(point.run.result.variant) for point in points]
            # Marks with the same brush are rendered once.
            brushes = {one.colour: pg.mkBrush(one.colour) for one in series}
            marks = pg.ScatterPlotItem(
                [math.log10(point.intensity) for point in points],
                [math.log10(point.gflops) for point in points],
                symbol=[one.symbol for one in series],
                size=[_MARK_SIZES.get(one.symbol, _MARK_SIZE) for one in series],
                brush=[brushes[one.colour] for one in series],
                pen=pg.mkPen(theme.base, width=1),
                data=list(points),
                hoverable=True,
                tip=lambda x, y, data: _heard(data),
            )
            marks.setOpacity(opacity)
            marks.sigClicked.connect(lambda _item, spots, *_: self.clicked.emit(spots[-1].data()))
            self.draw(marks)
        # Marked runs have their names first, then the newest ones.
        for point in (*state.marked, *reversed(state.points[-_MOST_NAMES:])):
            name = self._name(theme.text, (0, 0.5))
            name.setText(f"{_BESIDE_RING}{point.run.result.variant}{_BESIDE_RING}")
            name.setPos(math.log10(point.intensity), math.log10(point.gflops))
            name.setOpacity(EARLIER_OPACITY if state.results.is_earlier(point.run.result) else 1.0)
            self._run_names.append(name)

    def _place_names(self) -> None:
        """Let the names of slopes lie along them, and show those of runs that have room."""
        box, is_narrow = self.box, self.width() < _NARROW
        (left, right), (low, high) = box.viewRange()
        across, up = box.width() / max(right - left, 1e-9), box.height() / max(high - low, 1e-9)
        for name, roof, begin in self._roof_names:
            name.setText(roof.name if is_narrow else roof.words)
            # On these axes each slope rises a decade per decade.
            name.setAngle(0.0 if roof.is_flat else math.degrees(math.atan2(up, across)))
            if not roof.is_flat:
                # A letter's height from the axis, which a turned name would reach over.
                away = name.boundingRect().height() / across
                name.setPos(begin.x() + away, begin.y() + away)
        taken: list[QRectF] = []
        for name in self._run_names:
            size, at = name.boundingRect().size(), name.pos()
            # On the side towards the middle.
            is_left = at.x() > (left + right) / 2
            corner = QPointF(at.x() * across - is_left * size.width(), -at.y() * up)
            area = QRectF(corner, QSizeF(size.width(), _NAME_HEIGHT * size.height()))
            name.setAnchor((int(is_left), 0.5))
            is_shown = not taken or not (is_narrow or any(map(area.intersects, taken)))
            name.setVisible(is_shown)
            taken += [area] * is_shown

    def _name(self, colour: str, anchor: tuple[float, float]) -> pg.TextItem:
        name = pg.TextItem(color=colour, anchor=anchor)
        name.setFont(small_font())
        self.draw(name)
        return name


def _decades(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, some decades apart."""
    begin, end = math.log10(low), math.log10(high)
    missing = max(0.0, _FEWEST_DECADES - (end - begin)) / 2
    return begin - missing, end + missing


def _heard(point: Point) -> str:
    return f"{run_title(point.run)}: {point.words}"


_SAVED_SIZE = 960, 600
_SAVE_TIP = "Save the plot as PNG or SVG."
_HINT = (
    "No run is faster than its roof: copies of its size, or multiply-adds. Solid roofs were measured, dashed "
    "ones are theoretical. Click a point to select its run."
)


class RooflinePanel(QWidget):
    """Shows the roofline of the selected run's device."""

    def __init__(self, roofline: RooflineState) -> None:
        super().__init__()
        self._roofline = roofline
        self.caption = ElidedLabel(most=2, small=True)
        self.note = ElidedLabel(most=2, small=True)
        self.plot = RooflinePlot(roofline)
        self.measure_button = QPushButton(MEASURE)
        self.measure_button.setToolTip(MEASURE_TIP)
        self.save_button = text_button("export", "Save", "Save the roofline", _SAVE_TIP)
        above, below = row((self.caption, 1), self.save_button), row((self.note, 1), self.measure_button)
        self.setLayout(column(above, (self.plot, 1), below, spacing=HALF_GRID, margins=PANEL_MARGINS))
        self.plot.clicked.connect(lambda point: roofline.results.describe(point.run.result))
        self.measure_button.clicked.connect(lambda: roofline.measure(roofline.device))
        self.save_button.clicked.connect(lambda: roofline.save_wanted.emit(self.drawing()))
        roofline.changed.connect(self._show)
        roofline.state.running_changed.connect(self._allow)

    def drawing(self) -> PaintedChart:
        """Return the plot in a size of its own, however small the panel is."""
        plot = RooflinePlot(self._roofline)
        plot.resize(*_SAVED_SIZE)
        plot.redraw()
        for item in plot.drawn:
            if isinstance(item, pg.ScatterPlotItem):
                # On the screen marks are pictures; as paths they stay sharp in a file.
                item.setExportMode(True, {"resolutionScale": 1.0})
        # Its parts get their places when it is painted, the words of an axis the second time.
        for _ in range(2):
            plot.grab()
        return PaintedChart(
            "Roofline", plot.size(), lambda painter: plot.render(painter, QRectF(plot.rect()))
        )

    def _show(self) -> None:
        state = self._roofline
        points = state.points
        self.plot.redraw()
        self.save_button.setVisible(bool(points))
        count = f"{len(points)} run{'s' if len(points) != 1 else ''} on {state.device_title}"
        self.caption.setText(f"{count}. {state.compared}".removesuffix(". ") if points else "")
        self.caption.setToolTip(f"{count}\n\n{_HINT}")
        self.note.say(state.note)
        self.measure_button.setVisible(state.lacks_limits)
        self._allow()

    def _allow(self) -> None:
        self.measure_button.setEnabled(not self._roofline.state.why_no_run)
