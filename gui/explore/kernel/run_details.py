"""The selected run below the kernels: where its time went, and what it asked of the machine by its model.

What every run costs is a bar; what only the first one does stands in words below it. In one bar with the
rest, compilation would be all that can be seen: it takes some 10,000 times as long as a kernel.
"""

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.device_info import SIMULATOR
from engine.results.columns import layout_suffix
from engine.results.compare import Compared
from engine.results.measurement import Timing
from engine.results.metrics import metric
from engine.results.quantities import digits_text, ms_text, rate_text
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.results import RunResult
from gui.explore.results.results_model import ResultsModel
from gui.explore.run_words import EARLIER
from gui.style.metrics import EARLIER_OPACITY, GRID, number_font
from gui.style.theme import current_theme
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.run_tooltip import run_tooltip

_BAR_HEIGHT = GRID
_LINE = 2 * GRID
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter)


def _parts(timing: Timing | None) -> tuple[dict[str, float], dict[str, float]]:
    """Return what only the first run costs, and what every run costs, in its order; ms by name."""
    if timing is None:
        return {}, {}
    # The CPU copies nothing.
    spreads = (("H2D", timing.host_to_device), ("kernel", timing.kernel), ("D2H", timing.device_to_host))
    every_run = {name: spread.median_ms for name, spread in spreads if spread is not None}
    return {"compile": timing.compile_ms, "allocate": timing.allocate_ms}, every_run


class BreakdownBar(QWidget):
    """The selected run by name; a bar of host to device | kernel | device to host; compile and allocate.

    Hidden while there is no run; a run without a time has only its name and its reason.
    """

    def __init__(self, results: ResultsModel) -> None:
        super().__init__()
        self._results = results
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Where the time of the selected run went")
        results.described_changed.connect(self._refresh)
        self._refresh()

    def sizeHint(self) -> QSize:
        return QSize(30 * GRID, _LINE + (3 * _LINE + _BAR_HEIGHT if self._timing else _LINE))

    @property
    def title(self) -> str:
        """Which run it is about."""
        run = self._results.described
        if run is None:
            return ""
        result = run.result
        block = f", {result.block}" if result.block else ""
        earlier = f", {EARLIER}" if self._results.is_earlier(result) else ""
        return f"Run {run.number}: {result.variant}{block}{layout_suffix(result)}{earlier}"

    @property
    def _timing(self) -> Timing | None:
        run = self._results.described
        return run.result.timing if run is not None and run.result.kernel_ms is not None else None

    def paintEvent(self, event: QPaintEvent) -> None:
        run, timing = self._results.described, self._timing
        if run is None:
            return
        theme = current_theme()
        painter = QPainter(self)
        painter.setFont(number_font())
        is_earlier = self._results.is_earlier(run.result)
        painter.setPen(QColor(theme.muted if is_earlier else theme.text))
        title = painter.fontMetrics().elidedText(self.title, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(QRect(0, 0, self.width(), _LINE), _VCENTER, title)
        painter.setOpacity(EARLIER_OPACITY if is_earlier else 1.0)
        if timing is not None:
            first, every_run = _parts(timing)
            self._draw(painter, _LINE, every_run)
            words = ", ".join(f"{name} {digits_text(ms, 3)}" for name, ms in first.items())
            self._write(painter, 3 * _LINE + _BAR_HEIGHT, "First run only, ms", words)
        else:
            painter.setPen(QColor(theme.muted))
            why = _why_no_bars(run.result)
            why = painter.fontMetrics().elidedText(why, Qt.TextElideMode.ElideRight, self.width())
            painter.drawText(QRect(0, _LINE, self.width(), _LINE), _VCENTER, why)
        painter.end()

    def _write(self, painter: QPainter, top: int, title: str, number: str) -> None:
        line = QRect(0, top, self.width(), _LINE)
        painter.setPen(QColor(current_theme().muted))
        painter.drawText(line, _VCENTER, title)
        painter.drawText(line, _VCENTER | int(Qt.AlignmentFlag.AlignRight), number)

    def _draw(self, painter: QPainter, top: int, parts: dict[str, float]) -> None:
        theme = current_theme()
        total_ms = sum(parts.values())
        self._write(painter, top, "Every run, ms", digits_text(total_ms, 3))
        left, legend_left = 0.0, 0
        legend_top = top + _LINE + _BAR_HEIGHT
        for name, duration_ms in parts.items():
            width = self.width() * duration_ms / total_ms if total_ms else 0.0
            # Work in the accent, copies and preparations in two greys.
            colour = QColor({"kernel": theme.accent, "allocate": theme.line}.get(name, theme.muted))
            # One pixel between the shares; each is at least one pixel wide.
            painter.fillRect(QRectF(left, top + _LINE, max(1.0, width - 1.0), _BAR_HEIGHT), colour)
            left += width
            painter.fillRect(QRectF(legend_left, legend_top + (_LINE - GRID) / 2, GRID, GRID), colour)
            text = f"{name} {digits_text(duration_ms, 3)}"
            label = QRect(legend_left + GRID + 4, legend_top, self.width(), _LINE)
            painter.drawText(label, _VCENTER, text)
            legend_left = label.left() + painter.fontMetrics().horizontalAdvance(text) + GRID

    def _refresh(self) -> None:
        run, timing = self._results.described, self._timing
        self.setVisible(run is not None)
        if run is not None:
            first, every_run = _parts(timing)
            words = ", ".join(f"{name} {ms_text(duration)}" for name, duration in (first | every_run).items())
            self.setAccessibleDescription(f"{self.title}: {words or _why_no_bars(run.result)}")
            self.setToolTip(run_tooltip(run))
        self.updateGeometry()
        self.update()


def _why_no_bars(result: RunResult) -> str:
    """Return why a run has no times, in a few words."""
    is_simulated = result.device == SIMULATOR and not result.failure
    return "Simulated: no times" if is_simulated else result.status


class WorkLine(ElidedLabel):
    """The model of work of the selected run, all its counts in the tooltip; hidden where it has none."""

    def __init__(self, results: ResultsModel) -> None:
        # Three lines for four kinds of loads.
        super().__init__(most=3, small=True)
        self._results = results
        self.setAccessibleName("Model of the work of the selected run")
        results.described_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        run = self._results.described
        sentence = _work_sentence(run) if run else ""
        self.setText(sentence)
        self.setToolTip(run_tooltip(run) if run and sentence else "")
        self.setVisible(bool(sentence))


def _work_sentence(run: Compared) -> str:
    """Return the model of a run in one line, "" without one; all kinds of loads are in it and add up."""
    work, values = run.result.work, run.result.problem.values
    if work is None:
        return ""
    # What global loads read beside the image.
    others = "mask" if run.result.task == Problem.task else "other"
    others = "intermediate" if work.global_stores > values else others
    loads = [
        (work.picture_loads, "image load"),
        (work.global_loads - work.picture_loads, f"{others} load"),
        (work.shared_loads, "shared load"),
        (work.constant_loads, "constant load"),
    ]
    parts = ", ".join(_several(rate_text(count / values), name) for count, name in loads if count)
    cgma = _several(metric("model_cgma_flop_per_load").text(run), "operation")
    return f"Model: {cgma} per global load (CGMA). Per output value: {parts}"


def _several(number: str, name: str) -> str:
    return f"{number} {name}{'s' if number != '1' else ''}"
