"""The panel Launch: what the next run takes of a GPU, what limits its occupancy, and what would change it."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QWidget

from engine.explain.launch.launch_words import limit_sentence, numbers_of
from engine.explain.launch.launches import MOST_REGISTERS, STATIC_BYTES, CurvePoint, Curves, ExplainedLaunch
from engine.results.text_forms import percent_text
from gui.explore.explain.launch_state import LaunchState
from gui.plots.plot import Plot, pg, text_over
from gui.style.colours import series_at
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.labels import ElidedLabel, Finding, Findings
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    Placeholder,
    column,
    fill_box,
    folding_row,
    narrow_box,
    row,
)

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


_AXIS_TIP = "What the occupancy is drawn over. Along the curve everything else stays as it is."
_SENTENCE_TIP = (
    "Each change is alone, with everything else as it is: also the shared memory of a tile, which in truth "
    "follows its block."
)
_PASS_TIP = "Which of the kernel's launches is shown."
# With less width, what is side by side stands below one another.
_BESIDE_FROM = 52 * GRID
# With less, one curve is shown, the one that is chosen.
_ALL_FROM = 112 * GRID
AXES = {"threads": "Threads", "registers": "Registers", "shared_bytes": "Shared memory"}
"""The curves and their names in a list."""
_KIB = 1024
_COMPILING, _UNKNOWN = "compiling …", "not known"


class LaunchPanel(QWidget):
    """The launch of the selected kernel. Its plots are why it is made when it is first looked at."""

    def __init__(self, launch: LaunchState) -> None:
        super().__init__()
        self._launch = launch
        self.passes = narrow_box("Pass of the kernel", _PASS_TIP, 5)
        self.axis = narrow_box("What the occupancy is drawn over", _AXIS_TIP, 11)
        self.sentence = ElidedLabel(most=3)
        self.note = ElidedLabel(most=2, small=True)
        self.numbers = Findings("Numbers of the launch")
        registers = *_ticks(64, 192), (MOST_REGISTERS, str(MOST_REGISTERS))
        kib = [(at, f"{at // _KIB} KiB" if at else "0") for at in range(0, STATIC_BYTES + 1, 16 * _KIB)]
        self.plots = {
            "threads": OccupancyPlot("threads per block", "{:,}".format, _ticks(256, 1024)),
            "registers": OccupancyPlot("registers per thread", str, registers),
            "shared_bytes": OccupancyPlot("shared memory per block", _kib_text, kib),
        }
        self._build()
        self.passes.activated.connect(launch.choose_pass)
        self.axis.currentIndexChanged.connect(self._fit)
        launch.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        state = self._launch
        advice, shown, drawn = state.found, state.launch, state.curves
        self.stack.say(state.words if shown is None else "")
        count = len(advice.launches) if advice is not None else 0
        fill_box(self.passes, {at: f"Pass {at + 1}" for at in range(count)}, state.pass_number)
        self.passes.setVisible(count > 1)
        self._fit()
        if shown is None or drawn is None:
            return
        self.sentence.setText(limit_sentence(shown, drawn))
        self.sentence.setToolTip(f"{self.sentence.text()}\n\n{_SENTENCE_TIP}")
        self.note.setText(state.note)
        self.note.setVisible(bool(state.note))
        numbers = [Finding(*one) for one in numbers_of(shown, _COMPILING if state.is_compiling else _UNKNOWN)]
        if (other := state.other_launch) is not None and state.selection.other is not None:
            key = state.selection.other.key
            numbers = [
                one._replace(text=f"{one.text} ({key}: {its.text})") if its.text != one.text else one
                for one, its in zip(numbers, numbers_of(other, _COMPILING), strict=True)
            ]
        self.numbers.show_findings(numbers)
        self._show_curves(shown, drawn, is_compiling=state.is_compiling)

    def _show_curves(self, launch: ExplainedLaunch, drawn: Curves, *, is_compiling: bool) -> None:
        """Draw the curves of a launch, with the launch marked on each."""
        facts, share = launch.facts, launch.occupancy.share
        empty = "Registers are being found." if is_compiling else "Registers are not known."
        for (name, plot), now in zip(
            self.plots.items(), (facts.threads, facts.registers, facts.shared_bytes), strict=True
        ):
            plot.show_curve(getattr(drawn, name), None if now is None else (now, share), empty)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Show all curves where there is room, else the one that is chosen."""
        shows_all = self.width() >= _ALL_FROM
        for name, plot in self.plots.items():
            plot.setVisible(shows_all or name == self.axis.currentData())
        self.axis.setVisible(self._launch.launch is not None and not shows_all)

    def _build(self) -> None:
        fill_box(self.axis, AXES, "threads")
        self.sentence.setForegroundRole(QPalette.ColorRole.WindowText)
        self.sentence.setAccessibleName("What limits the occupancy")
        curves = row(*((plot, 1) for plot in self.plots.values()))
        body = folding_row((self.numbers, 2), (curves, 3), spacing=2 * GRID, beside_from=_BESIDE_FROM)
        said = row(self.passes, (self.sentence, 1), self.axis)
        shown = QWidget()
        shown.setLayout(column(said, self.note, (body, 1), spacing=HALF_GRID))
        self.stack = Placeholder(shown)
        for box in (self.passes, self.axis):
            said.setAlignment(box, Qt.AlignmentFlag.AlignTop)
        self.setLayout(column((self.stack, 1), margins=PANEL_MARGINS))


def _ticks(step: int, last: int) -> list[tuple[int, str]]:
    return [(at, f"{at:,}") for at in range(0, last + 1, step)]


def _kib_text(at: int) -> str:
    return f"{at / _KIB:.3g} KiB"
