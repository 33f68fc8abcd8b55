"""Occupancy over one thing that a launch takes, with the launch itself marked."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtWidgets import QWidget

from engine.explain.launch.launches import CurvePoint
from engine.results.quantities import percent_text
from gui.plots.library import pg
from gui.plots.plot import Plot, text_over
from gui.style.metrics import GRID, HALF_GRID
from gui.style.series import series_at
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.panel_parts import column

_DOT_SIZE, _MARK_SIZE = 4, 11
# Marks are whole at both ends.
_LOWEST, _HIGHEST, _ROOM = -8, 112, 0.06
# Half of the longest word of a tick.
_WORD_ROOM = 3 * GRID
_HALVES = [(0, "0"), (50, "50 %"), (100, "100 %")]


_NARROW = 26 * GRID


class OccupancyPlot(QWidget):
    """Draws a curve; its numbers are in tooltips and in the accessible description.

    `title` names what is along the axis, `at_text` writes a place of it, and `ticks` stand below it.
    """

    def __init__(self, title: str, at_text: Callable[[int], str], ticks: Sequence[tuple[int, str]]) -> None:
        super().__init__()
        self._title, self._at_text, self._ticks = title, at_text, ticks
        self._curve: Sequence[CurvePoint] = ()
        self._now: tuple[int, float] | None = None
        self.plot = Plot(bottom=_Bottom("bottom"))
        self.empty_text = text_over(self.plot)
        self.plot.set_margins(GRID, HALF_GRID, 2 * GRID, HALF_GRID)
        self.setAccessibleName(f"Occupancy over {title}")
        self.setLayout(column(self.plot))
        theme_notifier().changed.connect(self._draw)
        self.plot.box.sigResized.connect(self._place_words)

    def show_curve(self, curve: Sequence[CurvePoint], now: tuple[int, float] | None, empty: str) -> None:
        """Draw a curve, and where the launch stands on it; `empty` is said where there is no curve."""
        self.empty_text.setText(empty)
        if (curve, now) != (self._curve, self._now):
            self._curve, self._now = curve, now
            self._draw()
        self.setAccessibleDescription(self._words() or empty)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, 11 * GRID)

    def _words(self) -> str:
        if not self._curve or self._now is None:
            return ""
        best = max(point.share for point in self._curve)
        where = [point.at for point in self._curve if point.share == best]
        ends = dict.fromkeys((where[0], where[-1]))
        between = " to ".join(map(self._at_text, ends))
        return f"Now {self._tip(*self._now)}. Highest: {percent_text(best)} at {between}."

    def _draw(self) -> None:
        theme, curve, now = current_theme(), self._curve, self._now
        self.plot.clear()
        self.plot.colour(theme)
        self.empty_text.setVisible(not curve)
        for axis in self.plot.axes:
            axis.setVisible(bool(curve))
            axis.setGrid(40)
        if not curve:
            return
        line, mark = series_at(0, theme).colour, series_at(3, theme).colour
        xs, ys = [point.at for point in curve], [100 * point.share for point in curve]
        self.plot.draw(pg.PlotCurveItem(xs, ys, pen=pg.mkPen(line, width=1.5), antialias=True))
        dots = [{"pos": at, "data": None} for at in zip(xs, ys, strict=True)]
        look = {"symbol": "o", "size": _DOT_SIZE, "pen": None, "brush": pg.mkBrush(line)}
        self._add_marks([dot | look for dot in dots])
        if now is not None:
            upright = pg.mkPen(mark, width=1, style=Qt.PenStyle.DashLine)
            self.plot.draw(pg.InfiniteLine(now[0], 90, upright))
            ring = pg.mkPen(theme.base, width=1.5)
            look = {"symbol": "d", "size": _MARK_SIZE, "pen": ring, "brush": pg.mkBrush(mark)}
            self._add_marks([{"pos": (now[0], 100 * now[1])} | look])
        first, last = min(0, *xs), max(*xs, now[0] if now else 0)
        room = _ROOM * (last - first)
        self.plot.show_range((first - room, last + room), (_LOWEST, _HIGHEST))
        self.plot.left.setTicks([_HALVES])
        self._place_words()

    def _place_words(self) -> None:
        """Write along the axis what there is room for."""
        now = f"now {self._at_text(self._now[0])}" if self._now else ""
        bottom = self.plot.bottom
        bottom.setTicks([self._ticks[:: 2 if self.width() < _NARROW else 1]])
        # What is along the axis is also in the list where the curve was chosen.
        label = ", ".join(filter(None, (self._title, now)))
        is_cut = self.fontMetrics().horizontalAdvance(label) > self.plot.box.width()
        bottom.setLabel(now if is_cut else label)

    def _add_marks(self, spots: Sequence[dict[str, object]]) -> None:
        self.plot.draw(
            pg.ScatterPlotItem(
                spots=spots, hoverable=True, tip=lambda x, y, data: self._tip(round(x), y / 100)
            )
        )

    def _tip(self, at: int, share: float) -> str:
        return f"{self._at_text(at)}: {percent_text(share)}"


class _Bottom(pg.AxisItem):
    def boundingRect(self) -> QRectF:
        # Otherwise the last tick has no word where half of it would lie outside.
        rect: QRectF = super().boundingRect()
        return rect.adjusted(-_WORD_ROOM, 0, _WORD_ROOM, 0)
