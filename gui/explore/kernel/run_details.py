"""The selected run below the kernels: where its time went, and what it asked of the machine by its model.

What every run costs is a bar; what only the first one does stands in words below it. In one bar with the
rest, compilation would be all that can be seen: it takes some 10,000 times as long as a kernel.
"""

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGraphicsOpacityEffect, QWidget

from engine.device_info import SIMULATOR
from engine.results.compare import Compared
from engine.results.measurement import Timing
from engine.results.metrics import metric
from engine.results.quantities import digits_text, ms_text, rate_text
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.results import RunResult
from gui.explore.results.results_model import ResultsModel
from gui.explore.run_words import run_title
from gui.style.metrics import EARLIER_OPACITY, GRID
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.bar_chart import Bar, BarChart, Row
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.legend import Legend, LegendEntry
from gui.widgets.panel_parts import column
from gui.widgets.run_tooltip import run_tooltip


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
        self._name, self._rest = ElidedLabel(), ElidedLabel()
        self._bar = BarChart("Every run, ms", row=2 * GRID, bar=GRID)
        self._parts = Legend("Parts of every run, ms")
        times = QWidget()
        times.setLayout(column(self._bar, self._parts, self._rest, spacing=0))
        self._dim = QGraphicsOpacityEffect(times, opacity=EARLIER_OPACITY)
        times.setGraphicsEffect(self._dim)
        self.setLayout(column(self._name, times, spacing=0))
        self.setAccessibleName("Where the time of the selected run went")
        results.described_changed.connect(self._refresh)
        theme_notifier().changed.connect(self._refresh)
        self._refresh()

    @property
    def title(self) -> str:
        """Which run it is about."""
        run = self._results.described
        return run_title(run, is_earlier=self._results.is_earlier(run.result)) if run else ""

    def _refresh(self) -> None:
        run = self._results.described
        self.setVisible(run is not None)
        if run is None:
            return
        first, every_run = _parts(run.result.timing if run.result.kernel_ms is not None else None)
        is_earlier, roles = self._results.is_earlier(run.result), QPalette.ColorRole
        self._name.setText(self.title)
        self._name.setForegroundRole(roles.PlaceholderText if is_earlier else roles.WindowText)
        self._dim.setEnabled(is_earlier)
        self._show_every_run(every_run)
        only = ", ".join(f"{name} {digits_text(ms, 3)}" for name, ms in first.items())
        self._rest.setText(f"First run only, ms: {only}" if first else _why_no_bars(run.result))
        for part in (self, self._name, self._bar, self._parts, self._rest):
            part.setToolTip(run_tooltip(run))
        words = ", ".join(f"{name} {ms_text(duration)}" for name, duration in (first | every_run).items())
        self.setAccessibleDescription(f"{self.title}: {words or _why_no_bars(run.result)}")

    def _show_every_run(self, parts: dict[str, float]) -> None:
        theme, total_ms = current_theme(), sum(parts.values())
        bars, entries, begin = [], [], 0.0
        for name, ms in parts.items():
            # Work in the accent, copies in grey.
            colour = theme.accent if name == "kernel" else theme.muted
            end = begin + ms / max(total_ms, 1e-9)
            bars.append(Bar(begin, end, colour))
            entries.append(LegendEntry(f"{name} {digits_text(ms, 3)}", colour))
            begin = end
        row = Row("Every run, ms", tuple(bars), digits_text(total_ms, 3), is_quiet=True)
        self._bar.show_rows([row], "")
        self._parts.show_entries(entries)
        for part in (self._bar, self._parts):
            part.setVisible(bool(parts))


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
