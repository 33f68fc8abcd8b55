"""What the plots by variant share: a row a variant, times or ratios along a logarithmic axis, the theme, the words.

Rows lie on top of one another because names of kernels are long and plots are low. Values are placed by their
logarithm by hand, so that ticks can be plain words (20 µs, 5 ms, 100×).
"""

import math
from collections.abc import Callable, Sequence

import pyqtgraph as pg
from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from engine.results.measurement import RunResult
from gui.engine_link.failure_text import why_no_time
from gui.explore.results.comparison import (
    ProblemKey,
    kernel_speed_ms,
    layout_suffix,
    no_speed_word,
    problem_key,
)
from gui.explore.results.results_model import ResultsModel
from gui.plots.log_axis import LogAxis
from gui.plots.row_scroll import RowScroll
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.series import series_for
from gui.style.theme import Theme, current_theme, theme_notifier
from gui.widgets.elided_label import ElidedLabel

# Of log10: a factor of 4, so that at least two ticks are words.
_SMALLEST_SPAN = 0.6
_LEFT_ROOM = 0.05
# Blanks before a number: half a mark is as wide.
_MARK_ROOM = "   "
_MARK_SIZE = 11
_CAPTION_LINES = 3
# A star and two crossed bars look smaller than they measure.
_MARK_SIZES = {"star": 16, "x": 13, "+": 13, "d": 13}


class VariantPlot(QWidget):
    """A plot about the problem of the newest result; subclasses draw the rows.

    Parameters
    ----------
    results : ResultsModel
    tick_text : callable of float -> str
        A round value of the axis in words.
    empty : str
        What will be here and how to fill it.
    """

    def __init__(
        self,
        results: ResultsModel,
        tick_text: Callable[[float], str],
        empty: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._results = results
        self._empty = empty
        self._low, self._high, self._number_pixels = 0.0, 1.0, 0
        self._drawn: list[pg.GraphicsObject] = []
        self._numbers: list[pg.TextItem] = []
        self._spare_numbers: list[pg.TextItem] = []
        self.caption = ElidedLabel(most=_CAPTION_LINES, small=True)
        self.omitted = ElidedLabel()
        self.plot = pg.PlotWidget(axisItems={"bottom": LogAxis(tick_text)})
        self.rows = RowScroll(self.plot)
        self.empty_text = QLabel(self.plot)
        self._build()
        self.plot.getViewBox().sigResized.connect(self._fit_values)
        # Once a turn of the event loop, each plot in a turn of its own: 4 to 7 ms each.
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self.redraw)
        results.rowsInserted.connect(self._soon.start)
        results.modelReset.connect(self._soon.start)
        theme_notifier().changed.connect(self.redraw)

    def redraw(self) -> None:
        """Draw everything anew: there are few rows, and a change of theme touches all."""
        theme = current_theme()
        key = self.problem()
        of_problem = [r for r in self._results.results() if problem_key(r.problem) == key]
        runs = [result for result in of_problem if kernel_speed_ms(result) is not None]
        for item in self._drawn:
            self.plot.removeItem(item)
        self._drawn = []
        self._apply_theme(theme)
        before, self._numbers = self._numbers, []
        self._spare_numbers = before[::-1]
        numbers = self.draw(runs, theme)
        if not numbers:
            self.rows.set_rows(0)
        for spare in self._spare_numbers:
            self.plot.removeItem(spare)
        caption = self.caption_text(key) if key else ""
        # A size stays on one line.
        self.caption.setText(caption.replace(" x ", "\u00a0x\u00a0"))
        self.caption.setVisible(key is not None)
        self.empty_text.setText(self._empty if not of_problem else self.why_empty())
        self.empty_text.setVisible(not numbers)
        for side in ("left", "bottom"):
            self.plot.getPlotItem().showAxis(side, bool(numbers))
        omitted = _omitted_text(of_problem)
        self.omitted.setText(omitted)
        self.omitted.setVisible(bool(omitted))
        words = "; ".join(numbers) or self.empty_text.text().replace("\n", " ")
        self.setAccessibleDescription(f"{words.rstrip('.')}. {omitted}".strip())

    def draw(self, runs: Sequence[RunResult], theme: Theme) -> list[str]:
        """Draw the verified runs of the problem and return what is drawn, in words; nothing if it cannot be."""
        raise NotImplementedError

    def caption_text(self, key: ProblemKey) -> str:
        """Return what the axis is and for which problem."""
        raise NotImplementedError

    def why_empty(self) -> str:
        """Return why nothing is drawn although there are results."""
        return "No run of this problem has a speed yet."

    def problem(self) -> ProblemKey | None:
        """Return the problem that the plot is about: that of the newest result."""
        results = self._results.results()
        return problem_key(results[-1].problem) if results else None

    def set_rows(self, names: Sequence[str]) -> None:
        """Name the rows, the first on top."""
        axis = self.plot.getAxis("left")
        axis.setTicks([[(-float(row), name) for row, name in enumerate(names)]])
        self.rows.set_rows(len(names))

    def set_values(self, low: float, high: float, numbers: Sequence[str]) -> None:
        """Show log10 values from `low` to `high`, with room on the right for the longest of `numbers`."""
        if (missing := _SMALLEST_SPAN - (high - low)) > 0:
            low, high = low - missing / 2, high + missing / 2
        metrics = QFontMetrics(number_font())
        self._number_pixels = max(metrics.horizontalAdvance(f"{_MARK_ROOM}{text}") for text in numbers) + GRID
        self._low, self._high = low, high
        self._fit_values()

    def _fit_values(self) -> None:
        # Numbers have a size in pixels, so their share of the axis changes with the panel's width.
        pixels = max(1.0, self.plot.getViewBox().width())
        room = min(0.5, self._number_pixels / pixels)
        span = (self._high - self._low) / (1.0 - room - _LEFT_ROOM)
        self.plot.setXRange(self._low - _LEFT_ROOM * span, self._high + room * span, padding=0)

    def add_marks(
        self,
        runs: Sequence[RunResult],
        places: Sequence[tuple[float, int]],
        theme: Theme,
        words: Callable[[RunResult], str],
    ) -> pg.ScatterPlotItem:
        """Draw a mark a run at (value, row), in its variant's colour and shape; the mouse over it shows `words`.

        One item for all, because an item costs about 0.5 ms each time that the plot is drawn anew.
        """
        known = {run.variant: series_for(run.variant, theme) for run in runs}
        brushes = {variant: pg.mkBrush(one.colour) for variant, one in known.items()}
        series = [known[run.variant] for run in runs]
        marks = pg.ScatterPlotItem(
            [x for x, _ in places],
            [-float(row) for _, row in places],
            symbol=[one.symbol for one in series],
            size=[_MARK_SIZES.get(one.symbol, _MARK_SIZE) for one in series],
            brush=[brushes[run.variant] for run in runs],
            pen=pg.mkPen(theme.base, width=1),
            data=runs,
            hoverable=True,
            tip=lambda x, y, data: words(data),
        )
        self.add(marks)
        return marks

    def add_number(self, text: str, x: float, row: int, theme: Theme) -> None:
        """Write a number to the right of a mark."""
        # Making a text item takes 0.6 ms, so those of the last time are used again.
        if self._spare_numbers:
            item = self._spare_numbers.pop()
        else:
            item = pg.TextItem(anchor=(0, 0.5))
            item.setFont(number_font())
            self.plot.addItem(item)
        self._numbers.append(item)
        item.setText(f"{_MARK_ROOM}{text}", color=theme.text)
        item.setPos(x, -float(row))

    def add(self, item: pg.GraphicsObject) -> None:
        """Draw an item until everything is drawn anew."""
        self._drawn.append(item)
        self.plot.addItem(item)

    def sizeHint(self) -> QSize:
        return QSize(48 * GRID, 28 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(30 * GRID, 16 * GRID)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._place_empty_text()

    def _build(self) -> None:
        item = self.plot.getPlotItem()
        # A wheel over a plot scrolls no axis away; there is nothing to pan to.
        item.setMouseEnabled(x=False, y=False)
        item.setMenuEnabled(False)
        item.hideButtons()
        item.getViewBox().disableAutoRange()
        item.layout.setContentsMargins(GRID, HALF_GRID, HALF_GRID, HALF_GRID)
        self.plot.setFrameShape(self.plot.Shape.NoFrame)
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.empty_text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty_text.setWordWrap(True)
        self.empty_text.setForegroundRole(self.empty_text.foregroundRole().PlaceholderText)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GRID, HALF_GRID, GRID, GRID)
        layout.setSpacing(HALF_GRID)
        layout.addWidget(self.caption)
        beside = QHBoxLayout()
        beside.setSpacing(0)
        beside.addWidget(self.plot, 1)
        beside.addWidget(self.rows)
        layout.addLayout(beside, 1)
        layout.addWidget(self.omitted)

    def _place_empty_text(self) -> None:
        self.empty_text.setGeometry(self.plot.rect().adjusted(2 * GRID, GRID, -2 * GRID, -GRID))

    def _apply_theme(self, theme: Theme) -> None:
        self.plot.setBackground(theme.base)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(pg.mkPen(theme.line))
            axis.setTextPen(pg.mkPen(theme.text if side == "left" else theme.muted))
            axis.setTickFont(number_font())
            axis.setStyle(tickLength=0 if side == "left" else -HALF_GRID)
        self.plot.getAxis("bottom").setGrid(40)


def log_ms(duration_ms: float) -> float:
    """Return log10 of a duration; a clock too coarse for a tiny picture may say 0, which is drawn as 1 ns."""
    return math.log10(max(duration_ms, 1e-6))


def row_name(run: RunResult) -> str:
    """Return the name of the row that a run stands in: its variant, and with packed rows a row of its own."""
    return f"{run.variant}{layout_suffix(run)}"


def newest_by_row(runs: Sequence[RunResult]) -> dict[str, RunResult]:
    """Return the newest run of each row by its name: variants in the order in which they first ran, each with its rows."""
    order = {run.variant: position for position, run in reversed(list(enumerate(runs)))}
    newest = {row_name(run): run for run in runs}
    return dict(sorted(newest.items(), key=lambda entry: order[entry[1].variant]))


def _omitted_text(of_problem: Sequence[RunResult]) -> str:
    """Name the results without a speed, variants with the same reason together."""
    variants: dict[str, dict[str, None]] = {}
    for result in of_problem:
        word = no_speed_word(result)
        if word in ("failed", "not verified"):
            word = f"{word} ({why_no_time(result)})"
        if word:
            variants.setdefault(word, {})[row_name(result)] = None
    parts = [f"{', '.join(names)}: {word}" for word, names in variants.items()]
    return f"Not plotted: {'; '.join(parts)}" if parts else ""
