"""The panel Launch: what limits the occupancy, what would change it; registers come once it is compiled."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QWidget

from engine.explain.launches import MOST_REGISTERS, STATIC_BYTES, CurvePoint, limit_sentence, numbers_of
from engine.explain.messages import CompiledLaunchRequest, LaunchAdvice, LaunchRequest
from engine.results.text_forms import percent_text
from engine.work.messages import PictureJob
from gui.explore.explain.question import PassesQuestion
from gui.style.metrics import GRID, HALF_GRID, follow
from gui.style.theme import current_theme, series_at, theme_notifier
from gui.widgets.labels import ElidedLabel, Findings, NamedFinding
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    NarrowBox,
    PlaceholderStack,
    boxed,
    column,
    fill_box,
    folding_row,
    row,
)
from gui.widgets.plot import Plot, pg, text_over


class LaunchState(PassesQuestion[LaunchAdvice]):
    """What the launches take of a GPU, or the reason why there are none."""

    no_filter = (
        "Launches are explained of convolutions only.\n"
        "Choose Convolution under Operation to see what a block takes of a GPU."
    )
    no_picture = "Open a picture: what the chosen kernel takes of a GPU appears here, before it runs."
    no_engine = "The launch appears once the engine is up."
    asking = "Finding out what the kernel takes of a GPU."
    passes = "launches"
    others = "\n\nSelect a CUDA kernel in the list of kernels: its launch is explained without a GPU too."

    @property
    def is_compiling(self) -> bool:
        """Whether registers are on their way."""
        return self._wanted is not None and self._wanted == self._compiled_of(self.answer, self._job)

    @property
    def note(self) -> str:
        """Why registers are not known, and will not be; empty otherwise."""
        own = self._compiled_of(self.answer, self._job)
        whys = (why for request, why in self._refused if request == own and why != self.no_engine)
        return next(whys, self.answer.reason if self.answer and self.answer.launches else "")

    def _request_about(self, job: PictureJob) -> LaunchRequest:
        return LaunchRequest(job, self.selection.gpu)

    def _compiled_of(self, answer: LaunchAdvice | None, job: PictureJob | None) -> LaunchRequest | None:
        is_missing = answer is not None and not answer.is_complete
        return CompiledLaunchRequest(job, self.selection.gpu) if is_missing and job is not None else None

    def _missing(self) -> Iterable[LaunchRequest]:
        of_both = (self.answer, self._job), (self.other, self._other_job)
        return filter(None, (self._compiled_of(*one) for one in of_both))

    def _take_compiled(self, request: LaunchRequest, answer: LaunchAdvice) -> None:
        if request.job == self._job:
            self.answer = answer
        else:
            self.other = answer


_DOT_SIZE, _MARK_SIZE = 4, 11
_LOWEST, _HIGHEST, _MARGIN = -8, 112, 0.06  # marks are whole at both ends
# Half of the longest word of a tick.
_WORD_SPACE = 3 * GRID
_HALVES = [(0, "0"), (50, "50 %"), (100, "100 %")]
_NARROW = 26 * GRID


class Along(NamedTuple):
    """What the occupancy is drawn over: its name in a list, and along the axis; a place of it; the ticks."""

    name: str
    title: str
    at_text: Callable[[int], str]
    ticks: Sequence[tuple[int, str]]


class OccupancyPlot(Plot):
    """Draws a curve; its numbers are in tooltips and in the accessible description."""

    def __init__(self) -> None:
        super().__init__(bottom=_Bottom("bottom"))
        self._along = AXES["threads"]
        self._curve: Sequence[CurvePoint] = ()
        self._now: tuple[int, float] | None = None
        self.empty_text = text_over(self)
        self.set_margins(GRID, HALF_GRID, 2 * GRID, HALF_GRID)
        self.setMinimumSize(18 * GRID, 11 * GRID)
        theme_notifier().changed.connect(self._draw)
        self.box.sigResized.connect(self._place_words)

    def show_curve(
        self, along: Along, curve: Sequence[CurvePoint], now: tuple[int, float] | None, empty: str
    ) -> None:
        """Draw a curve, and where the launch stands on it; `empty` is shown where there is no curve."""
        self.empty_text.setText(empty)
        if (along, curve, now) != (self._along, self._curve, self._now):
            self._along, self._curve, self._now = along, curve, now
            self._draw()
        self.setAccessibleName(f"Occupancy over {along.title}")
        self.setAccessibleDescription(self._words() or empty)

    def _words(self) -> str:
        if not self._curve or self._now is None:
            return ""
        best = max(point.share for point in self._curve)
        where = [self._along.at_text(point.at) for point in self._curve if point.share == best]
        between = " to ".join(dict.fromkeys((where[0], where[-1])))
        return f"Now {self._tip(*self._now)}. Highest: {percent_text(best)} at {between}."

    def _draw(self) -> None:
        theme, curve, now = current_theme(), self._curve, self._now
        self.clear()
        self.colour(theme)
        self.empty_text.setVisible(not curve)
        for axis in self.axes:
            axis.setVisible(bool(curve))
            axis.setGrid(40)
        if not curve:
            return
        line, mark = series_at(0, theme).colour, series_at(3, theme).colour
        xs, ys = [point.at for point in curve], [100 * point.share for point in curve]
        self.draw(pg.PlotCurveItem(xs, ys, pen=pg.mkPen(line, width=1.5), antialias=True))
        self._add_marks(xs, ys, symbol="o", size=_DOT_SIZE, pen=None, brush=pg.mkBrush(line))
        if now is not None:
            upright = pg.mkPen(mark, width=1, style=Qt.PenStyle.DashLine)
            self.draw(pg.InfiniteLine(now[0], 90, upright))
            look = {"pen": pg.mkPen(theme.base, width=1.5), "brush": pg.mkBrush(mark)}
            self._add_marks([now[0]], [100 * now[1]], symbol="d", size=_MARK_SIZE, **look)
        first, last = min(0, *xs), max(*xs, now[0] if now else 0)
        margin = _MARGIN * (last - first)
        self.show_range((first - margin, last + margin), (_LOWEST, _HIGHEST))
        self.left.setTicks([_HALVES])
        self._place_words()

    def _place_words(self) -> None:
        now = f"now {self._along.at_text(self._now[0])}" if self._now else ""
        self.bottom.setTicks([self._along.ticks[:: 2 if self.width() < _NARROW else 1]])
        # What is along the axis is also in the list where the curve was chosen.
        label = ", ".join(filter(None, (self._along.title, now)))
        is_cut = self.fontMetrics().horizontalAdvance(label) > self.box.width()
        self.bottom.setLabel(now if is_cut else label)

    def _add_marks(self, xs: Sequence[float], ys: Sequence[float], **look: Any) -> None:
        look |= {"hoverable": True, "tip": lambda x, y, data: self._tip(round(x), y / 100)}
        self.draw(pg.ScatterPlotItem(xs, ys, **look))

    def _tip(self, at: int, share: float) -> str:
        return f"{self._along.at_text(at)}: {percent_text(share)}"


class _Bottom(pg.AxisItem):
    def boundingRect(self) -> QRectF:
        # Otherwise the last tick has no word where half of it would lie outside.
        rect: QRectF = super().boundingRect()
        return rect.adjusted(-_WORD_SPACE, 0, _WORD_SPACE, 0)


_AXIS_TIP = "What the occupancy is drawn over. Along the curve everything else stays as it is."
_SENTENCE_TIP = (
    "Each change is alone, with everything else as it is: also the shared memory of a tile, which in truth "
    "follows its block."
)
# With less width, what is side by side stands below one another.
_BESIDE_FROM = 52 * GRID
_KIB = 1024


def _ticks(step: int, last: int) -> list[tuple[int, str]]:
    return [(at, f"{at:,}") for at in range(0, last + 1, step)]


_LAST_REGISTERS = MOST_REGISTERS, str(MOST_REGISTERS)
AXES = {
    "threads": Along("Threads", "threads per block", "{:,}".format, _ticks(256, 1024)),
    "registers": Along("Registers", "registers per thread", str, [*_ticks(64, 192), _LAST_REGISTERS]),
    "shared_bytes": Along(
        "Shared memory",
        "shared memory per block",
        lambda at: f"{at / _KIB:.3g} KiB",
        [(at, f"{at // _KIB} KiB" if at else "0") for at in range(0, STATIC_BYTES + 1, 16 * _KIB)],
    ),
}
"""The curves of a launch by their names."""
_COMPILING, _UNKNOWN = "compiling …", "not known"


class LaunchPanel(QWidget):
    """The launch of the selected kernel. It is made when it is first visible, for its plot."""

    def __init__(self, launch: LaunchState) -> None:
        super().__init__()
        self._launch = launch
        self.passes = NarrowBox("Pass of the kernel", "Which of the kernel's launches is shown.", 5)
        axes = {key: along.name for key, along in AXES.items()}
        self.axis = NarrowBox("What the occupancy is drawn over", _AXIS_TIP, 11, axes)
        self.sentence = ElidedLabel(most=3, is_plain=True, name="What limits the occupancy")
        self.note = ElidedLabel(most=2, small=True)
        self.numbers = Findings("Numbers of the launch")
        self.plot = OccupancyPlot()
        # No number is cut where the plot has what it needs.
        body = folding_row(self.numbers, (self.plot, 1), beside_from=_BESIDE_FROM)
        head = row(self.passes, (self.sentence, 1), self.axis)
        for box in (self.passes, self.axis):
            head.setAlignment(box, Qt.AlignmentFlag.AlignTop)
        self.stack = PlaceholderStack(boxed(column(head, self.note, (body, 1), spacing=HALF_GRID)))
        self.setLayout(column((self.stack, 1), margins=PANEL_MARGINS))
        self.passes.chosen.connect(launch.choose_pass)
        follow(self._show, launch.changed, self.axis.currentIndexChanged)

    def _show(self) -> None:
        state = self._launch
        advice, shown = state.answer, state.of_pass(state.answer)
        self.stack.say(state.words if shown is None else "")
        count = len(advice.launches) if advice is not None else 0
        fill_box(self.passes, {at: f"Pass {at + 1}" for at in range(count)}, state.pass_number)
        self.passes.setVisible(count > 1)
        self.axis.setVisible(shown is not None)
        if shown is None:
            return
        self.sentence.setText(limit_sentence(shown))
        self.sentence.setToolTip(f"{self.sentence.text()}\n\n{_SENTENCE_TIP}")
        self.note.say(state.note)
        numbers = [
            NamedFinding(*one) for one in numbers_of(shown, _COMPILING if state.is_compiling else _UNKNOWN)
        ]
        if (other := state.of_pass(state.other)) is not None and state.selection.other is not None:
            key = state.selection.other.key
            numbers = [
                one._replace(text=f"{one.text} ({key}: {its.text})") if its.text != one.text else one
                for one, its in zip(numbers, numbers_of(other, _COMPILING), strict=True)
            ]
        self.numbers.show_findings(numbers)
        name, facts = self.axis.currentData(), shown.facts
        now = getattr(facts, name)
        empty = "Registers are being found." if state.is_compiling else "Registers are not known."
        point = None if now is None else (now, shown.occupancy.share)
        self.plot.show_curve(AXES[name], shown.curves[name], point, empty)
